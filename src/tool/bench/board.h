// SPDX-License-Identifier: Apache-2.0
// Board: memory of a file through which the workers of a job tell the bench that started them what they have done. It
// begins as zeros. Any process and thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace mdist {

struct Board {
    static constexpr uint32_t kWorkers = 4;
    static constexpr uint32_t kGenerations = 64;
    static constexpr uint32_t kSamples = 512;

    std::atomic<uint64_t> steps;                            // taken by all, as the chief counts them
    std::array<std::atomic<double>, kGenerations> first_ns; // end of the first step of each generation; 0: none
    std::array<std::atomic<int32_t>, kWorkers> pids;        // by rank
    std::atomic<uint32_t> samples;                          // how many of the following are there
    std::array<double, kSamples> library_ns, floor_ns;
};

/// A board in a file, which every process with the path may map.
class MappedBoard {
  public:
    /// Makes a file of its own, which goes with the object.
    MappedBoard();
    explicit MappedBoard(const std::string &path);
    ~MappedBoard();
    MappedBoard(const MappedBoard &) = delete;
    MappedBoard &operator=(const MappedBoard &) = delete;
    Board *operator->() const { return board_; }
    const std::string &path() const { return path_; }

  private:
    void map(int fd);

    std::string path_;
    bool is_own_ = false;
    Board *board_ = nullptr;
};

} // namespace mdist

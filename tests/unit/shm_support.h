// SPDX-License-Identifier: Apache-2.0
// Workers of one host for tests: processes, as in life, or threads of one process, which sanitizers see through.
#pragma once

#include "comm/shm/bell.h"
#include "comm/shm/mates.h"
#include "random.h"
#include "util/failure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

// This header of 1.1.5 does not say for itself that it is C.
extern "C" {
#include <cmocka.h>
}
#undef fail

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mdist::test {

/// What stands in for the store: texts that all workers put up and read, and what became of each worker.
class Board {
  public:
    static constexpr uint32_t kMost = 8;

    explicit Board(uint32_t workers) : workers_(workers) {
        void *map = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (map == MAP_FAILED) std::abort();
        shared_ = new (map) Shared;
    }
    ~Board() { munmap(shared_, sizeof(Shared)); }
    Board(const Board &) = delete;
    Board &operator=(const Board &) = delete;

    uint32_t workers() const { return workers_; }

    std::vector<std::string> exchange(uint32_t rank, uint32_t round, const std::string &blob) {
        std::snprintf(shared_->texts[round][rank], sizeof shared_->texts[round][rank], "%s", blob.c_str());
        shared_->arrived[round].fetch_add(1);
        while (shared_->arrived[round].load() < workers_) sched_yield();
        std::vector<std::string> all;
        for (uint32_t other = 0; other < workers_; ++other) all.push_back(shared_->texts[round][other]);
        return all;
    }
    void set_result(uint32_t rank, const std::string &result) {
        std::snprintf(shared_->results[rank], sizeof shared_->results[rank], "%s", result.c_str());
    }
    std::string result(uint32_t rank) const { return shared_->results[rank]; }
    std::atomic<uint32_t> &flag(uint32_t i) { return shared_->flags[i]; }

  private:
    struct Shared {
        std::atomic<uint32_t> arrived[2] = {};
        std::atomic<uint32_t> flags[kMost] = {};
        char texts[2][kMost][512] = {};
        char results[kMost][512] = {};
    };
    uint32_t workers_;
    Shared *shared_;
};

constexpr uint64_t kTestArena = uint64_t{256} << 20;

inline ShmSizes test_sizes(uint32_t workers) {
    ShmSizes sizes;
    sizes.workers = workers;
    sizes.ring_bytes = 4096;
    sizes.small_bytes = 4096;
    sizes.stage_bytes = 16384;
    sizes.arena_bytes = kTestArena;
    return sizes;
}

inline std::shared_ptr<ShmMates> join(Board &board, uint32_t rank, const ShmSizes &sizes) {
    auto mates = std::make_shared<ShmMates>(rank, board.workers(), sizes, 1);
    mates->settle(board.exchange(rank, 1, mates->open(board.exchange(rank, 0, mates->offer()))));
    for (uint32_t other = 0; other < board.workers(); ++other)
        if (other != rank && !mates->shares(other)) throw Failure(MDIST_ERR_INTERNAL, mates->reason(other));
    return mates;
}

/// What one worker does; returns what is wrong, in words.
using Body = std::function<std::string(Board &, uint32_t rank)>;

inline void run_one(Board &board, uint32_t rank, const Body &body) {
    try {
        board.set_result(rank, body(board, rank));
    } catch (const Failure &failure) {
        board.set_result(rank, "failure: " + failure.message());
    } catch (const std::exception &other) {
        board.set_result(rank, std::string("exception: ") + other.what());
    }
}

/// Each worker's words, "" if all was well.
inline std::vector<std::string> run_processes(uint32_t workers, const Body &body) {
    Board board(workers);
    std::vector<pid_t> pids;
    for (uint32_t rank = 0; rank < workers; ++rank) {
        const pid_t pid = fork();
        if (pid == 0) {
            alarm(600); // it hangs: none of these takes seconds
            board.set_result(rank, "died");
            run_one(board, rank, body);
            _exit(0);
        }
        pids.push_back(pid);
    }
    std::vector<std::string> results;
    for (uint32_t rank = 0; rank < workers; ++rank) {
        int status = 0;
        while (waitpid(pids[rank], &status, 0) < 0 && errno == EINTR) {
        }
        results.push_back(board.result(rank));
    }
    return results;
}

inline std::vector<std::string> run_threads(uint32_t workers, const Body &body) {
    Board board(workers);
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < workers; ++rank)
        threads.emplace_back([&board, &body, rank] { run_one(board, rank, body); });
    for (std::thread &thread : threads) thread.join();
    std::vector<std::string> results;
    for (uint32_t rank = 0; rank < workers; ++rank) results.push_back(board.result(rank));
    return results;
}

inline void assert_well(const std::vector<std::string> &results) {
    for (const std::string &result : results) assert_string_equal(result.c_str(), "");
}

} // namespace mdist::test

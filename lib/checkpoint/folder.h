// SPDX-License-Identifier: Apache-2.0
// CheckpointFolder: numbered checkpoints in a folder.
//
//   checkpoint-12.safetensors   one checkpoint each, whole by itself
//   checkpoints.json            which there are, in the order in which they were saved; written last, so that what it
//                               does not name was not finished: {"crc32": ..., "format": ..., "numbers": [11, 12]}
//   .*.new                      on its way, or left over by a crash: overwritten or removed by the next save
//
// Throws what files.h does, and DATA_LOSS for a list that is damaged. Not thread-safe.
#pragma once

#include "util/files.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdist {

class CheckpointFolder {
  public:
    /// There already. Throws NOT_FOUND, reason "no_checkpoint", if not.
    static CheckpointFolder open(const std::string &path);
    /// To save to: made if need be, and locked.
    static CheckpointFolder open_to_save(const std::string &path);

    Folder &folder() { return folder_; }
    /// Those that are listed and still there; the last is the latest.
    std::vector<uint64_t> numbers() const;
    /// Throws NOT_FOUND, reason "no_checkpoint", if there is none.
    uint64_t latest() const;
    /// That checkpoint, or the latest. Throws NOT_FOUND, reason "no_checkpoint".
    std::pair<uint64_t, OldFile> find(std::optional<uint64_t> number) const;

    /// Makes `file` checkpoint `number`, the latest, and removes all but the last `keep` (0: none). If it throws, the
    /// checkpoints are as they were, or the one of that number is replaced.
    void add(uint64_t number, NewFile &file, uint32_t keep);

    /// Removes all that it lists, the latest last, and the list; no folder is fine. Throws IO with how many are left.
    static void clear(const std::string &path);

    static std::string name_of(uint64_t number);

  private:
    explicit CheckpointFolder(Folder folder) : folder_(std::move(folder)) {}
    void remove_leftovers();

    Folder folder_;
};

std::string encode_manifest(const std::vector<uint64_t> &numbers);
/// Throws DATA_LOSS.
std::vector<uint64_t> parse_manifest(std::string_view json);

} // namespace mdist

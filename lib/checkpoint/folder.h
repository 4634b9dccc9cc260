// SPDX-License-Identifier: Apache-2.0
// CheckpointFolder: numbered checkpoints in a folder.
//
//   checkpoint-12.safetensors   one checkpoint; no other file is needed to read it
//   checkpoints.json            the list of checkpoints, in the order in which they were saved. It is written last:
//                               {"crc32": ..., "format": ..., "numbers": [11, 12]}
//                               A file that it does not name was not finished, or is somebody else's, and is not
//                               removed by a save
//   .*.new                      a file being written, or left over by a crash; the next save overwrites or removes it
//
// If the list is missing, or no file that it names is there, all files of such names are checkpoints, in the order of
// their numbers. Files that were copied without their list are worth more than a training that begins anew.
//
// Throws what files.h does, and DATA_LOSS if the list is damaged. Not thread-safe.
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
    /// Opens an existing folder. Throws NOT_FOUND, reason "no_checkpoint", if there is none.
    static CheckpointFolder open(const std::string &path);
    /// Opens a folder to save to. Makes it if needed, and locks it.
    static CheckpointFolder open_to_save(const std::string &path);

    Folder &folder() { return folder_; }
    /// Throws NOT_FOUND, reason "no_checkpoint", if there is none.
    uint64_t latest() const;
    /// Opens checkpoint `number`, or the latest if there is no number. Throws NOT_FOUND, reason "no_checkpoint".
    std::pair<uint64_t, OldFile> find(std::optional<uint64_t> number) const;

    /// Makes `file` checkpoint `number`, which becomes the latest. Then removes all but the last `keep` checkpoints; 0
    /// removes none. If it throws, the checkpoints are as they were, except that an older one of that number may have
    /// been replaced.
    void add(uint64_t number, NewFile &file, uint32_t keep);

    /// Removes all checkpoints, listed or not, the latest last, and then the list. If there is no folder, it does
    /// nothing. Throws IO, with how many are left, if some cannot be removed.
    static void clear(const std::string &path);

    static std::string name_of(uint64_t number);

  private:
    explicit CheckpointFolder(Folder folder) : folder_(std::move(folder)) {}
    /// Returns the checkpoints that are listed and still exist; the last is the latest.
    std::vector<uint64_t> listed() const;
    /// Returns all that exist, by number.
    std::vector<uint64_t> found() const;
    void remove_leftovers();

    Folder folder_;
};

std::string encode_manifest(const std::vector<uint64_t> &numbers);
/// Throws DATA_LOSS.
std::vector<uint64_t> parse_manifest(std::string_view json);

} // namespace mdist

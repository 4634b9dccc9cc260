// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/folder.h"

#include "util/failure.h"
#include "util/text.h"
#include "util/utf8.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

namespace mdist {
namespace {

const std::string kManifest = "checkpoints.json";
constexpr uint64_t kMostManifestBytes = 16 << 20;

Failure no_checkpoint(std::string message) {
    return Failure(MDIST_ERR_NOT_FOUND, std::move(message)).reason("no_checkpoint");
}

void write_manifest(Folder &folder, const std::vector<uint64_t> &numbers) {
    const std::string text = encode_manifest(numbers);
    NewFile file(folder, kManifest);
    file.write_at(0, text.data(), text.size());
    file.commit();
}

} // namespace

CheckpointFolder CheckpointFolder::open(const std::string &path) {
    try {
        return CheckpointFolder(Folder(path));
    } catch (const Failure &failure) {
        if (failure.status() != MDIST_ERR_NOT_FOUND) throw;
        throw no_checkpoint(text("there is no folder ", mdist::in_quotes(path)));
    }
}

CheckpointFolder CheckpointFolder::open_to_save(const std::string &path) {
    CheckpointFolder opened(Folder::created(path));
    opened.folder_.lock();
    opened.remove_leftovers();
    return opened;
}

std::string CheckpointFolder::name_of(uint64_t number) {
    return text("checkpoint-", number, ".safetensors");
}

std::vector<uint64_t> CheckpointFolder::numbers() const {
    if (!folder_.has(kManifest)) return {};
    const OldFile file(folder_, kManifest);
    if (file.bytes() > kMostManifestBytes)
        throw Failure(MDIST_ERR_DATA_LOSS, text(mdist::in_quotes(file.path()), " has ", file.bytes(),
                                                " bytes; a list of checkpoints has at most ", kMostManifestBytes,
                                                ". Restore a checkpoint by its number, or remove that file"));
    std::string content(file.bytes(), '\0');
    file.read_at(0, content.data(), content.size());
    try {
        std::vector<uint64_t> numbers = parse_manifest(content);
        std::erase_if(numbers, [this](uint64_t number) { return !folder_.has(name_of(number)); });
        return numbers;
    } catch (const Failure &failure) {
        throw Failure(MDIST_ERR_DATA_LOSS,
                      text(mdist::in_quotes(file.path()), ": ", failure.message(),
                           ". Restore a checkpoint by its number, or remove that file to start a new list"));
    }
}

uint64_t CheckpointFolder::latest() const {
    const std::vector<uint64_t> all = numbers();
    if (all.empty()) throw no_checkpoint(text("there is no checkpoint in ", mdist::in_quotes(folder_.path())));
    return all.back();
}

std::pair<uint64_t, OldFile> CheckpointFolder::find(std::optional<uint64_t> number) const {
    for (;;) {
        const uint64_t wanted = number ? *number : latest();
        try {
            return {wanted, OldFile(folder_, name_of(wanted))};
        } catch (const Failure &failure) {
            if (failure.status() != MDIST_ERR_NOT_FOUND) throw;
            // The latest may have been removed since it was looked up. Then another one is the latest: look again.
            if (number)
                throw no_checkpoint(text("there is no checkpoint ", wanted, " in ", mdist::in_quotes(folder_.path())));
        }
    }
}

void CheckpointFolder::add(uint64_t number, NewFile &file, uint32_t keep) {
    std::vector<uint64_t> all = numbers();
    const bool replaces = std::erase(all, number) > 0;
    all.push_back(number);
    std::vector<std::string> gone; // computed in advance: once the list is written, nothing may fail any more
    for (std::size_t i = 0; keep != 0 && i + keep < all.size(); ++i) gone.push_back(name_of(all[i]));
    try {
        file.commit();
        write_manifest(folder_, all); // still lists those that will be removed, so that none is forgotten
    } catch (...) {
        if (!replaces) folder_.remove(name_of(number));
        throw;
    }
    for (const std::string &name : gone) folder_.remove(name);
}

void CheckpointFolder::clear(const std::string &path) {
    if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) return;
    CheckpointFolder opened = open_to_save(path);
    for (const uint64_t number : opened.numbers()) opened.folder_.remove(name_of(number));
    if (const std::size_t left = opened.numbers().size(); left != 0)
        throw Failure(MDIST_ERR_IO, text(left, " checkpoints in ", mdist::in_quotes(path),
                                         " cannot be removed; the log has the reasons"));
    opened.folder_.remove(kManifest);
    opened.folder_.flush();
}

void CheckpointFolder::remove_leftovers() {
    const std::unique_ptr<DIR, int (*)(DIR *)> names(::opendir(folder_.path().c_str()), ::closedir);
    if (!names) return;
    while (const dirent *entry = ::readdir(names.get())) {
        const std::string_view name = entry->d_name;
        if (name.starts_with(".checkpoint") && name.ends_with(".new")) folder_.remove(std::string(name));
    }
}

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/folder.h"

#include "util/failure.h"
#include "util/log.h"
#include "util/text.h"
#include "util/utf8.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>

namespace mdist {
namespace {

const std::string kManifest = "checkpoints.json";
constexpr std::string_view kBeforeNumber = "checkpoint-", kBehindNumber = ".safetensors";
constexpr uint64_t kMostManifestBytes = 16 << 20;

Failure no_checkpoint(std::string message) {
    return Failure(MDIST_ERR_NOT_FOUND, std::move(message)).reason("no_checkpoint");
}

Failure bad_list(const OldFile &file, const std::string &what) {
    return {MDIST_ERR_DATA_LOSS, text(mdist::in_quotes(file.path()), ": ", what,
                                      ". Restore a checkpoint by its number, or remove that file: without it, the "
                                      "checkpoint with the highest number is the latest")};
}

std::optional<uint64_t> number_in(std::string_view name) {
    if (!name.starts_with(kBeforeNumber)) return std::nullopt;
    uint64_t number = 0;
    std::from_chars(name.data() + kBeforeNumber.size(), name.data() + name.size(), number);
    return name == CheckpointFolder::name_of(number) ? std::optional(number) : std::nullopt;
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
    return text(kBeforeNumber, number, kBehindNumber);
}

std::vector<uint64_t> CheckpointFolder::listed() const {
    if (!folder_.has(kManifest)) return {};
    const OldFile file(folder_, kManifest);
    if (file.bytes() > kMostManifestBytes)
        throw bad_list(file,
                       text("it has ", file.bytes(), " bytes; a list of checkpoints has at most ", kMostManifestBytes));
    std::string content(file.bytes(), '\0');
    file.read_at(0, content.data(), content.size());
    std::vector<uint64_t> numbers;
    try {
        numbers = parse_manifest(content);
    } catch (const Failure &failure) {
        throw bad_list(file, failure.message());
    }
    std::erase_if(numbers, [this](uint64_t number) { return !folder_.has(name_of(number)); });
    return numbers;
}

std::vector<uint64_t> CheckpointFolder::found() const {
    std::vector<uint64_t> numbers;
    for (const std::string &name : folder_.names())
        if (const auto number = number_in(name); number && folder_.has(name)) numbers.push_back(*number);
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

uint64_t CheckpointFolder::latest() const {
    if (const std::vector<uint64_t> all = listed(); !all.empty()) return all.back();
    const std::vector<uint64_t> all = found();
    if (all.empty()) throw no_checkpoint(text("there is no checkpoint in ", mdist::in_quotes(folder_.path())));
    log_warn(mdist::in_quotes(folder_.path_of(kManifest)),
             " names no checkpoint that is there; the latest is taken to be the one with the highest number, ",
             all.back());
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
    std::vector<uint64_t> all = listed();
    const bool replaces = std::erase(all, number) > 0 || folder_.has(name_of(number));
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
    const std::vector<uint64_t> listed = opened.listed();
    for (const uint64_t number : opened.found())
        if (std::find(listed.begin(), listed.end(), number) == listed.end()) opened.folder_.remove(name_of(number));
    for (const uint64_t number : listed) opened.folder_.remove(name_of(number));
    if (const std::size_t left = opened.found().size(); left != 0)
        throw Failure(MDIST_ERR_IO, text(left, " checkpoints in ", mdist::in_quotes(path),
                                         " cannot be removed; the log has the reasons"));
    opened.folder_.remove(kManifest);
    opened.folder_.flush();
}

void CheckpointFolder::remove_leftovers() {
    for (const std::string &name : folder_.names())
        if (name.starts_with(".checkpoint") && name.ends_with(".new")) folder_.remove(name);
}

} // namespace mdist

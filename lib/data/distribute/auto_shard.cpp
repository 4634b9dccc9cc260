// SPDX-License-Identifier: Apache-2.0
#include "data/distribute/auto_shard.h"

#include "util/failure.h"
#include "util/text.h"

#include <utility>

namespace mdist {
namespace {

/// In TensorFlow those workers fail that got a file, and the others wait for them. Here all fail, before the first
/// step.
void check_enough(const Sharing &sharing, uint64_t workers) {
    for (const FileList &list : sharing.lists)
        if (list.files.value_or(0) != 0 && *list.files < workers)
            throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                          text("cannot share out by file: ", list.reader, " reads ", *list.files,
                               *list.files == 1 ? " file" : " files", ", which is not enough for ", workers,
                               " workers; take at least ", workers, " files, or policy DATA or OFF"))
                .reason("too_few_files");
}

Sharing by_file(const std::shared_ptr<const Dataset> &source, const InputLayout &layout) {
    Sharing sharing = shard_files(source, layout);
    if (sharing.dataset != nullptr) check_enough(sharing, layout.workers);
    return sharing;
}

Sharing by_file_alone(const std::shared_ptr<const Dataset> &source, const InputLayout &layout) {
    Sharing sharing = by_file(source, layout);
    if (sharing.dataset != nullptr) return sharing;
    // One worker reads all there is, whatever that is.
    if (layout.workers == 1) return {source, MDIST_SHARD_FILE, "there is one worker"};
    throw Failure(MDIST_ERR_NOT_FOUND, text("policy FILE finds no files to share out: ", sharing.why,
                                            "; take policy DATA, or AUTO, which then does the same"));
}

Sharing by_file_or_data(const std::shared_ptr<const Dataset> &source, const InputLayout &layout) {
    Sharing sharing = by_file(source, layout);
    if (sharing.dataset != nullptr) return sharing;
    return {source, MDIST_SHARD_DATA, sharing.why};
}

Sharing by_hint(const std::shared_ptr<const Dataset> &source, const InputLayout &layout) {
    const auto dataset = replace_hints(source, layout);
    return {dataset, MDIST_SHARD_BY_HINT, dataset == source ? "there is no shard of MDIST_SHARD_HINT" : ""};
}

} // namespace

Sharing share(const std::shared_ptr<const Dataset> &source, const InputLayout &layout, int32_t policy) {
    switch (policy) {
        case MDIST_SHARD_OFF:
            return {source, MDIST_SHARD_OFF, ""};
        case MDIST_SHARD_AUTO:
            return by_file_or_data(source, layout);
        case MDIST_SHARD_FILE:
            return by_file_alone(source, layout);
        case MDIST_SHARD_DATA:
            return {source, MDIST_SHARD_DATA, ""};
        case MDIST_SHARD_BY_HINT:
            return by_hint(source, layout);
        default:
            throw invalid(text("policy ", policy, " is none of mdist_shard_policy_t"));
    }
}

} // namespace mdist

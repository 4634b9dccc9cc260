// SPDX-License-Identifier: Apache-2.0
#include "data/distribute/auto_shard.h"

#include "data/dataset.h"
#include "data/transforms.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

/// In TensorFlow the workers that got a file fail, and the others wait for them. Without any file, it trains on
/// nothing. Here all workers fail, before the first step.
void check_enough(const Sharing &sharing, const InputLayout &layout) {
    for (const FileList &list : sharing.lists)
        if (list.files && *list.files < least_to_shard(layout)) throw too_few_files(list.reader, *list.files, layout);
}

Sharing by_file(const std::shared_ptr<const Dataset> &source, const InputLayout &layout) {
    Sharing sharing = shard_files(source, layout);
    if (sharing.dataset != nullptr) check_enough(sharing, layout);
    return sharing;
}

Sharing by_file_alone(const std::shared_ptr<const Dataset> &source, const InputLayout &layout) {
    Sharing sharing = by_file(source, layout);
    if (sharing.dataset != nullptr) return sharing;
    // A single worker reads everything, whatever the sources are.
    if (layout.workers() == 1) return {source, MDIST_SHARD_FILE, "there is one worker"};
    throw Failure(MDIST_ERR_NOT_FOUND, text("policy FILE finds no files to share out: ", sharing.why,
                                            ". Use policy DATA, or AUTO, which uses DATA in this case"));
}

Sharing by_file_or_data(const std::shared_ptr<const Dataset> &source, const InputLayout &layout) {
    Sharing sharing = by_file(source, layout);
    if (sharing.dataset != nullptr) return sharing;
    return {source, MDIST_SHARD_DATA, sharing.why};
}

Sharing by_marks(const std::shared_ptr<const Dataset> &source, const InputLayout &layout) {
    const auto dataset = replace_placeholders(source, layout);
    return {dataset, MDIST_SHARD_MARKED, dataset == source ? "there is no shard of MDIST_ONE_PER_WORKER" : ""};
}

} // namespace

std::shared_ptr<const Dataset> shard_of(const std::shared_ptr<const Dataset> &source, const InputLayout &layout) {
    if (layout.spans.are_even()) return make_shard(source, layout.workers(), layout.worker);
    std::vector<uint64_t> own;
    for (uint32_t replica = layout.own().first; replica < layout.own().last; ++replica) own.push_back(replica);
    return make_selection(source, layout.total(), std::move(own));
}

Failure too_few_files(const std::string &reader, uint64_t files, const InputLayout &layout) {
    const uint64_t least = least_to_shard(layout);
    return Failure(MDIST_ERR_FAILED_PRECONDITION,
                   text("cannot share out by file: ", reader, " reads ", files, files == 1 ? " file" : " files",
                        ", which is not enough for ", layout.workers(), layout.workers() == 1 ? " worker" : " workers",
                        ". Use at least ", least, least == 1 ? " file" : " files", ", or policy DATA or OFF"))
        .reason("too_few_files");
}

uint64_t shard_size(uint64_t elements, const InputLayout &layout) {
    const bool even = layout.spans.are_even();
    const uint64_t first = even ? layout.worker : layout.own().first;
    const uint64_t count = even ? 1 : layout.own().count();
    const uint64_t row = even ? layout.workers() : layout.total();
    return elements / row * count + std::clamp(elements % row, first, first + count) - first;
}

uint64_t least_to_shard(const InputLayout &layout) {
    return layout.spans.are_even() ? layout.workers() : layout.spans[layout.workers() - 1].first + 1;
}

std::shared_ptr<const Dataset> over_others(const Source &at, FunctionRef<Source(const Source &)> made) {
    Sources sources = at->sources();
    bool changed = false;
    for (Source &source : sources) {
        Source other = made(source);
        if (other == nullptr) return nullptr;
        changed |= other != source;
        source = std::move(other);
    }
    return changed ? at->with_sources(sources) : at;
}

Source rewritten(const Source &at, Rewritten &done, FunctionRef<Source(const Source &)> replace) {
    if (const auto known = done.find(at.get()); known != done.end()) return known->second;
    const Source made = over_others(at, [&](const Source &source) { return rewritten(source, done, replace); });
    return done[at.get()] = replace(made);
}

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
        case MDIST_SHARD_MARKED:
            return by_marks(source, layout);
        default:
            throw invalid(text("policy ", policy, " is not a valid mdist_shard_policy_t"));
    }
}

} // namespace mdist

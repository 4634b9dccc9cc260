// SPDX-License-Identifier: Apache-2.0
#include "comm/packs.h"

#include "comm/collectives.h"
#include "util/dtype.h"
#include "util/fnv.h"
#include "util/log.h"
#include "util/text.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace mdist {
namespace {

void pack_by_bytes(const mdist_buffer_t *buffers, const Pack &whole, uint64_t most, std::vector<Pack> &packs) {
    uint64_t bytes = 0;
    bool open = false; // whether the last pack takes another
    for (const Slice &slice : whole) {
        if (!open) packs.emplace_back();
        packs.back().push_back(slice);
        bytes = (open ? bytes : 0) + slice.elements * dtype_size(buffers[slice.buffer].dtype);
        open = bytes <= most;
    }
}

void pack_by_count(const Pack &whole, uint64_t count, std::vector<Pack> &packs) {
    uint64_t elements = 0;
    for (const Slice &slice : whole) elements += slice.elements;
    if (elements < count) count = 1; // the last part takes all
    const uint64_t part = elements / count;
    Pack pack;
    uint64_t room = part; // of the pack
    uint64_t left = count;
    for (Slice slice : whole) {
        while (left > 1 && slice.elements >= room) {
            if (room != 0) pack.push_back({slice.buffer, slice.begin, room});
            slice.begin += room;
            slice.elements -= room;
            if (!pack.empty()) packs.push_back(std::exchange(pack, {}));
            room = part;
            --left;
        }
        if (slice.elements != 0) pack.push_back(slice);
        room -= std::min(room, slice.elements);
    }
    if (!pack.empty()) packs.push_back(std::move(pack));
}

void pack_each(const Pack &whole, std::vector<Pack> &packs) {
    for (const Slice &slice : whole) packs.push_back({slice});
}

} // namespace

std::vector<Pack> packs_of(const mdist_buffer_t *buffers, std::size_t count, const Packing &packing) {
    std::vector<Pack> by_dtype;
    for (std::size_t b = 0; b < count; ++b) {
        if (buffers[b].elements == 0) continue;
        auto same = std::find_if(by_dtype.begin(), by_dtype.end(),
                                 [&](const Pack &pack) { return buffers[pack[0].buffer].dtype == buffers[b].dtype; });
        if (same == by_dtype.end()) same = by_dtype.emplace(by_dtype.end());
        same->push_back({b, 0, buffers[b].elements});
    }
    std::vector<Pack> packs;
    for (const Pack &whole : by_dtype) {
        if (packing.bytes != 0)
            pack_by_bytes(buffers, whole, packing.bytes, packs);
        else if (packing.count == 0)
            pack_each(whole, packs);
        else
            pack_by_count(whole, packing.count, packs);
    }
    if (packs.empty()) packs.emplace_back();
    return packs;
}

std::vector<mdist_buffer_t> cut(const mdist_buffer_t *buffers, const Pack &pack) {
    std::vector<mdist_buffer_t> slices;
    slices.reserve(pack.size() + 1); // one more: NULL would mean a call of a kind without buffers
    for (const Slice &slice : pack) {
        const mdist_buffer_t &whole = buffers[slice.buffer];
        void *const data = static_cast<char *>(whole.data) + slice.begin * dtype_size(whole.dtype);
        slices.push_back({data, slice.elements, whole.dtype, 0});
    }
    return slices;
}

PackSubject subject_of(const mdist_buffer_t *buffers, std::size_t count, std::size_t index, std::size_t packs) {
    uint64_t elements = 0;
    for (std::size_t b = 0; b < count; ++b)
        elements = (elements + static_cast<uint64_t>(buffers[b].reserved)) * 31 + buffers[b].elements;
    std::string words = text("pack ", index + 1, " of ", packs, " of ", count, count == 1 ? " buffer, " : " buffers, ");
    return {fnv1a(words) * 31 + elements, std::move(words)};
}

void log_pack(const char *function, std::size_t index, std::size_t count, const std::vector<mdist_buffer_t> &buffers) {
    if (!log::enabled(MDIST_LOG_DEBUG)) return;
    uint64_t bytes = 0;
    for (const mdist_buffer_t &buffer : buffers) bytes += buffer.elements * dtype_size(buffer.dtype);
    log_debug(function, ": pack ", index + 1, " of ", count, ", ", buffers.size(),
              buffers.size() == 1 ? " buffer, " : " buffers, ", bytes, " bytes of ",
              buffers.empty() ? "none" : dtype_name(buffers[0].dtype));
}

void perform_packs(Executors &executors, uint32_t party, const Call &call, const Packing &packing,
                   uint64_t timeout_ns) {
    if (packing.one_operation() || call.kind->pattern() != Pattern::kReduce)
        return perform_collective(executors, party, call, timeout_ns);
    const std::vector<Pack> packs = packs_of(call.inputs, call.buffer_count, packing);
    for (std::size_t i = 0; i < packs.size(); ++i) {
        const std::vector<mdist_buffer_t> inputs = cut(call.inputs, packs[i]);
        const std::vector<mdist_buffer_t> outputs = cut(call.outputs, packs[i]);
        if (party == 0) log_pack(call.kind->name(), i, packs.size(), inputs);
        const PackSubject subject = subject_of(call.inputs, call.buffer_count, i, packs.size());
        Call part = call;
        part.subject = call.subject * 31 + subject.hash;
        part.subject_text = subject.text.c_str();
        part.inputs = inputs.data();
        part.outputs = outputs.data();
        part.buffer_count = inputs.size();
        perform_collective(executors, party, part, timeout_ns);
    }
}

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
#include "comm/packs.h"

#include "comm/collectives.h"
#include "util/dtype.h"
#include "util/fnv.h"
#include "util/log.h"
#include "util/text.h"

#include <algorithm>
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

/// What the operations of a pack must agree on besides their own buffers: which pack it is, of how many, and of what.
/// It keeps a pack from meeting one of another call. Adds a hash of it to `subject`.
std::string pack_text(const Call &call, std::size_t index, std::size_t packs, uint64_t &subject) {
    uint64_t elements = 0;
    for (std::size_t b = 0; b < call.buffer_count; ++b)
        elements = (elements + static_cast<uint64_t>(call.inputs[b].reserved)) * 31 + call.inputs[b].elements;
    std::string words = text("pack ", index + 1, " of ", packs, " of ", call.buffer_count,
                             call.buffer_count == 1 ? " buffer, " : " buffers, ");
    subject = call.subject * 31 + fnv1a(words) * 31 + elements;
    return words;
}

void log_pack(const char *function, std::size_t index, std::size_t count, const std::vector<mdist_buffer_t> &buffers) {
    if (!log::enabled(MDIST_LOG_DEBUG)) return;
    uint64_t bytes = 0;
    for (const mdist_buffer_t &buffer : buffers) bytes += buffer.elements * dtype_size(buffer.dtype);
    log_debug(function, ": pack ", index + 1, " of ", count, ", ", buffers.size(),
              buffers.size() == 1 ? " buffer, " : " buffers, ", bytes, " bytes of ",
              buffers.empty() ? "none" : dtype_name(buffers[0].dtype));
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

void for_packs(std::vector<Call> &calls, const Packing &packing, const char *function,
               FunctionRef<void(std::vector<Call> &)> run) {
    if (packing.one_operation()) return run(calls);
    const std::vector<Pack> packs = packs_of(calls[0].inputs, calls[0].buffer_count, packing);
    for (std::size_t i = 0; i < packs.size(); ++i) {
        std::vector<std::vector<mdist_buffer_t>> buffers;
        std::vector<Call> parts = calls;
        uint64_t subject = 0;
        const std::string words = pack_text(calls[0], i, packs.size(), subject);
        for (Call &part : parts) {
            part.inputs = buffers.emplace_back(cut(part.inputs, packs[i])).data();
            part.outputs = buffers.emplace_back(cut(part.outputs, packs[i])).data();
            part.buffer_count = packs[i].size();
            part.subject = subject;
            part.subject_text = words.c_str();
        }
        if (function != nullptr) log_pack(function, i, packs.size(), buffers[0]);
        run(parts);
    }
}

void perform_packs(Executors &executors, uint32_t party, const Call &call, const Packing &packing,
                   uint64_t timeout_ns) {
    if (packing.one_operation() || call.kind->pattern() != Pattern::kReduce)
        return perform_collective(executors, party, call, timeout_ns);
    std::vector<Call> own = {call};
    for_packs(own, packing, party == 0 ? call.kind->name() : nullptr,
              [&](std::vector<Call> &part) { perform_collective(executors, party, part[0], timeout_ns); });
}

} // namespace mdist

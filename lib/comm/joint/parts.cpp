// SPDX-License-Identifier: Apache-2.0
#include "comm/joint/parts.h"

#include "util/text.h"

#include <cstring>

namespace mdist::joint {
namespace {

bool gathers(const Call &call) {
    return mdist::gathers(call.kind);
}

} // namespace

std::vector<uint64_t> Parts::table_of(const Call *const *calls, uint32_t replicas) {
    std::vector<uint64_t> table;
    for (uint32_t local = 0; local < replicas; ++local) {
        const Call &call = *calls[local];
        for (std::size_t b = 0; b < call.buffer_count; ++b) {
            table.push_back((gathers(call) ? call.inputs : call.outputs)[b].elements);
            table.push_back((gathers(call) ? call.outputs : call.inputs)[b].elements);
        }
    }
    return table;
}

Parts::Parts(const Workers::Blobs &tables, uint32_t replicas_per_worker, std::size_t buffers)
    : buffers_(buffers), replicas_(static_cast<uint32_t>(tables.size()) * replicas_per_worker) {
    offsets_.resize((replicas_ + 1) * buffers, 0);
    wholes_.resize(replicas_ * buffers);
    const std::size_t per_table = replicas_per_worker * buffers;
    uint64_t lengths[2];
    for (const std::vector<char> &table : tables)
        if (table.size() != per_table * sizeof lengths)
            throw Failure(MDIST_ERR_INTERNAL, text("a worker's table of lengths has ", table.size(), " bytes, and ",
                                                   per_table * sizeof lengths, " were due"));
    for (std::size_t slot = 0; slot < wholes_.size(); ++slot) {
        std::memcpy(lengths, tables[slot / per_table].data() + slot % per_table * sizeof lengths, sizeof lengths);
        offsets_[slot + buffers] = offsets_[slot] + lengths[0];
        wholes_[slot] = lengths[1];
    }
}

void Parts::check(const Call &call) const {
    for (std::size_t slot = 0; slot < wholes_.size(); ++slot) {
        const auto replica = static_cast<uint32_t>(slot / buffers_);
        const std::size_t b = slot % buffers_;
        const bool has_whole = !has_root(call.kind) || replica == call.root || call.kind == CallKind::kReduceToRoot;
        if (!has_whole) continue;
        if (wholes_[slot] == offset(replicas_, b)) continue;
        throw Failure(MDIST_ERR_MISMATCH,
                      text(gathers(call) ? "output " : "input ", b, " of replica ", replica, " has ", wholes_[slot],
                           " elements; the ", gathers(call) ? "inputs" : "outputs", " of all replicas together have ",
                           offset(replicas_, b)))
            .operation(call_name(call.kind))
            .replica(static_cast<int32_t>(replica));
    }
}

} // namespace mdist::joint

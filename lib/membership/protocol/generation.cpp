// SPDX-License-Identifier: Apache-2.0
#include "membership/protocol/generation.h"

#include "util/payload.h"

namespace mdist {
namespace {

/// Of a generation: all that its members have.
uint32_t replicas_of(const Generation &generation) {
    return generation.members.empty() ? 0 : generation.members.back().replicas.last;
}

} // namespace

std::optional<uint32_t> Generation::rank_of(WorkerId id) const {
    for (uint32_t rank = 0; rank < members.size(); ++rank)
        if (members[rank].id == id) return rank;
    return std::nullopt;
}

std::vector<ReplicaRange> deal_replicas(uint32_t replicas, uint32_t workers) {
    std::vector<ReplicaRange> spans;
    uint32_t first = 0;
    for (uint32_t rank = 0; rank < workers; ++rank) {
        const uint32_t count = replicas / workers + (rank < replicas % workers ? 1 : 0);
        spans.push_back({first, first + count});
        first += count;
    }
    return spans;
}

std::string encode(const Joining &joining) {
    return PayloadWriter()(joining).take();
}

std::optional<Joining> decode_joining(std::string_view bytes) {
    Joining joining;
    const bool complete = PayloadReader(bytes)(joining).complete();
    return complete && joining.id != 0 ? std::optional(std::move(joining)) : std::nullopt;
}

std::string encode(const Generation &generation) {
    PayloadWriter out;
    out(generation.number, generation.session, generation.pulse, generation.resume.has_value(),
        generation.resume.value_or(CommitId{}), replicas_of(generation),
        static_cast<uint32_t>(generation.members.size()));
    for (const Generation::Member &member : generation.members) out(member.id, member.listens);
    return out.take();
}

std::optional<Generation> decode_generation(std::string_view bytes) {
    PayloadReader in(bytes);
    Generation generation;
    bool resumes = false;
    CommitId id;
    uint32_t replicas = 0, count = 0;
    in(generation.number, generation.session, generation.pulse, resumes, id, replicas, count);
    if (resumes) generation.resume = id;
    if (in.bad() || count > kMostWorkers) return std::nullopt;
    for (const ReplicaRange &span : deal_replicas(replicas, count)) {
        if (in.bad()) break;
        Generation::Member &member = generation.members.emplace_back();
        in(member.id, member.listens);
        member.replicas = span;
    }
    return in.complete() ? std::optional(std::move(generation)) : std::nullopt;
}

std::string encode(const Excerpt &excerpt) {
    PayloadWriter out;
    out(excerpt.session, excerpt.pulse, excerpt.size, static_cast<uint32_t>(excerpt.some.size()));
    for (const auto &[rank, listens] : excerpt.some) out(rank, listens);
    return out.take();
}

std::optional<Excerpt> decode_excerpt(std::string_view bytes) {
    PayloadReader in(bytes);
    Excerpt excerpt;
    uint32_t count = 0, rank = 0;
    for (in(excerpt.session, excerpt.pulse, excerpt.size, count); count > 0 && !in.bad(); --count) {
        Endpoint listens;
        in(rank, listens);
        excerpt.some.emplace(rank, std::move(listens));
    }
    return in.complete() && excerpt.size <= kMostWorkers ? std::optional(std::move(excerpt)) : std::nullopt;
}

std::string encode(const Ask &ask) {
    return PayloadWriter()(ask).take();
}

std::optional<Ask> decode_ask(std::string_view bytes) {
    Ask ask;
    return PayloadReader(bytes)(ask).complete() ? std::optional(std::move(ask)) : std::nullopt;
}

} // namespace mdist

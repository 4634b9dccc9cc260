// SPDX-License-Identifier: Apache-2.0
#include "membership/protocol/generation.h"

#include "util/payload.h"

namespace mdist {
namespace {

constexpr uint32_t kMostRanges = 65536; // of one worker in one commit

void write_commit(PayloadWriter &out, const CommitId &id) {
    out.number(id.number).number(id.generation);
}

CommitId read_commit(PayloadReader &in) {
    CommitId id;
    id.number = in.number<uint64_t>();
    id.generation = in.number<uint32_t>();
    return id;
}

/// Of a generation: all that its members have.
uint32_t replicas_of(const Generation &generation) {
    return generation.members.empty() ? 0 : generation.members.back().replicas.last;
}

ReplicaRange read_range(PayloadReader &in) {
    ReplicaRange range;
    range.first = in.number<uint32_t>();
    range.last = in.number<uint32_t>();
    return range;
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
    PayloadWriter out;
    out.number(joining.id).number(joining.generation);
    write_endpoint(out, joining.listens);
    return out.text(joining.agreement).text(joining.run).take();
}

std::optional<Joining> decode_joining(std::string_view bytes) {
    PayloadReader in(bytes);
    Joining joining;
    joining.id = in.number<uint64_t>();
    joining.generation = in.number<uint32_t>();
    joining.listens = read_endpoint(in);
    joining.agreement = in.text();
    joining.run = in.text();
    return in.complete() && joining.id != 0 ? std::optional(std::move(joining)) : std::nullopt;
}

std::string encode(const Generation &generation) {
    PayloadWriter out;
    out.number(generation.number).bytes(generation.session).bytes(generation.pulse);
    out.number(static_cast<uint8_t>(generation.resume.has_value()));
    write_commit(out, generation.resume.value_or(CommitId{}));
    out.number(replicas_of(generation)).number(static_cast<uint32_t>(generation.members.size()));
    for (const Generation::Member &member : generation.members) {
        out.number(member.id);
        write_endpoint(out, member.listens);
    }
    return out.take();
}

std::optional<Generation> decode_generation(std::string_view bytes) {
    PayloadReader in(bytes);
    Generation generation;
    generation.number = in.number<uint32_t>();
    generation.session = in.bytes<sizeof(SessionId)>();
    generation.pulse = in.bytes<sizeof(Digest)>();
    const bool resumes = in.number<uint8_t>() != 0;
    const CommitId id = read_commit(in);
    if (resumes) generation.resume = id;
    const auto replicas = in.number<uint32_t>(), count = in.number<uint32_t>();
    if (in.bad() || count > kMostWorkers) return std::nullopt;
    for (const ReplicaRange &span : deal_replicas(replicas, count)) {
        if (in.bad()) break;
        const auto worker = in.number<uint64_t>();
        generation.members.push_back({worker, read_endpoint(in), span});
    }
    if (!in.complete()) return std::nullopt;
    return generation;
}

std::string encode(const Excerpt &excerpt) {
    PayloadWriter out;
    out.bytes(excerpt.session).bytes(excerpt.pulse).number(excerpt.size);
    out.number(static_cast<uint32_t>(excerpt.some.size()));
    for (const auto &[rank, listens] : excerpt.some) {
        out.number(rank);
        write_endpoint(out, listens);
    }
    return out.take();
}

std::optional<Excerpt> decode_excerpt(std::string_view bytes) {
    PayloadReader in(bytes);
    Excerpt excerpt;
    excerpt.session = in.bytes<sizeof(SessionId)>();
    excerpt.pulse = in.bytes<sizeof(Digest)>();
    excerpt.size = in.number<uint32_t>();
    for (auto count = in.number<uint32_t>(); count > 0 && !in.bad(); --count) {
        const auto rank = in.number<uint32_t>();
        excerpt.some.emplace(rank, read_endpoint(in));
    }
    return in.complete() && excerpt.size <= kMostWorkers ? std::optional(std::move(excerpt)) : std::nullopt;
}

std::string encode(const Ask &ask) {
    PayloadWriter out;
    out.number(ask.limit_ns).number(ask.missed).number(static_cast<uint8_t>(ask.leaves));
    out.number(static_cast<uint32_t>(ask.held.size()));
    for (const HeldCommit &commit : ask.held) {
        write_commit(out, commit.id);
        out.number(static_cast<uint8_t>(commit.marked)).number(static_cast<uint32_t>(commit.whole.size()));
        for (const ReplicaRange &range : commit.whole) out.number(range.first).number(range.last);
    }
    return out.take();
}

std::optional<Ask> decode_ask(std::string_view bytes) {
    PayloadReader in(bytes);
    Ask ask;
    ask.limit_ns = in.number<uint64_t>();
    ask.missed = in.number<uint64_t>();
    ask.leaves = in.number<uint8_t>() != 0;
    const auto count = in.number<uint32_t>();
    if (in.bad() || count > kMostHeldCommits) return std::nullopt;
    for (uint32_t i = 0; i < count && !in.bad(); ++i) {
        HeldCommit commit;
        commit.id = read_commit(in);
        commit.marked = in.number<uint8_t>() != 0;
        const auto ranges = in.number<uint32_t>();
        if (in.bad() || ranges > kMostRanges) return std::nullopt;
        for (uint32_t r = 0; r < ranges && !in.bad(); ++r) commit.whole.push_back(read_range(in));
        ask.held.push_back(std::move(commit));
    }
    if (!in.complete()) return std::nullopt;
    return ask;
}

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
// Enters the next generation: asks for it, makes its devices and links, and restores the commit that the store chose.
#include "strategy/elastic/elastic.h"

#include "comm/call/bad_message.h"
#include "comm/workers/workers.h"
#include "device/gpu/gpu.h"
#include "strategy/job/call_functions.h"
#include "strategy/job/consensus.h"
#include "strategy/variables/variable.h"
#include "util/log.h"
#include "util/payload.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

/// Whether a regroup can make good what has failed. A GPU that fails is lost with its worker, whose regroup fails.
bool is_loss(const Failure &failure) {
    return lost_workers(failure) || failure.status() == MDIST_ERR_DEVICE;
}

Failure without_commit() {
    return Failure(MDIST_ERR_ABORTED,
                   "workers were lost before all had made the first commit, so there is no state to "
                   "go on from. Start the job again")
        .reason("no_commit");
}

/// What a worker has of the commit to restore, as it tells the others.
struct Offer {
    bool has = false;
    uint64_t step = 0;
    bool has_parts = false;
    uint32_t losses = 0; // since the program's last commit; a newcomer knows of none
    std::string state;   // State::text()
    std::vector<ReplicaRange> parts;

    bool part_is_there(uint32_t replica) const {
        return std::any_of(parts.begin(), parts.end(), [replica](const ReplicaRange &range) {
            return range.first <= replica && replica < range.last;
        });
    }
    std::string encoded() const {
        PayloadWriter out;
        out(has, step, has_parts, losses).blob(state);
        for (const ReplicaRange &range : parts) out(range);
        return out.take();
    }
    static Offer decoded(std::string_view from, uint32_t worker) {
        PayloadReader in(from);
        Offer out;
        out.state = in(out.has, out.step, out.has_parts, out.losses).blob();
        while (!in.complete() && !in.bad()) in(out.parts.emplace_back());
        if (in.bad()) throw bad_message(worker, "bytes that do not say what it has of a commit");
        return out;
    }
};

Failure turned_away(const Offer &job, const Offer &own) {
    const auto [theirs, here] = first_difference(job.state, own.state);
    return Failure(MDIST_ERR_MISMATCH, text("this newcomer has not created what the job has: the job has ", theirs,
                                            ", this worker has ", here, ". The job goes on without it"))
        .reason("different_program");
}

} // namespace

KeptCommit *Elastic::find(CommitId id) {
    const auto found =
        std::find_if(commits_.begin(), commits_.end(), [&](const KeptCommit &kept) { return kept.id == id; });
    return found == commits_.end() ? nullptr : &*found;
}

Holdings Elastic::holdings() const {
    Holdings held;
    for (const KeptCommit &kept : commits_) held.push_back(kept.held(job_.elastic.settings.replicas));
    return held;
}

void Elastic::check_is_loss() const {
    const auto cause = job_.comm.end_of_collectives();
    if (!cause) return;
    if (!is_loss(*cause))
        throw Failure(
            MDIST_ERR_FAILED_PRECONDITION,
            text("the job has failed, but not because a worker was lost, and would fail again: ", cause->message()))
            .reason("not_a_loss")
            .worker(cause->worker());
    const uint32_t most = job_.elastic.settings.max_losses_per_commit;
    if (losses_ < most) return;
    throw Failure(cause->status(), text("workers were lost ", losses_ + 1,
                                        " times without a new commit, more often than "
                                        "elastic.max_losses_per_commit (",
                                        most, ") permits: ", cause->message()))
        .reason("too_many_losses")
        .worker(cause->worker());
}

/// What their streams still do may use memory that the next generation takes over. A worker whose GPU has failed, or
/// has not ended its work, is out of the job.
void Elastic::finish_gpus() const {
    for (const auto &device : job_.replicas.devices())
        if (device->gpu() != nullptr) device->gpu()->finish_unless_overdue();
}

uint64_t Elastic::regroup(uint64_t timeout_ns) {
    job_.use.require_open();
    check_is_loss();
    if (job_.comm.end_of_collectives()) ++losses_;
    const uint64_t limit = timeout_ns != 0 ? timeout_ns : job_.comm.link_settings.timeout_ns;
    for (;;) {
        finish_gpus();
        job_.leave_generation();
        if (enter(next(limit))) return commits_.back().step;
    }
}

Generation Elastic::next(uint64_t timeout_ns) {
    try {
        return job_.elastic.membership()->next(holdings(), timeout_ns, job_.leaving.announced());
    } catch (const std::exception &caught) {
        drop_out(as_failure(caught));
        throw;
    }
}

/// This worker is out of the job. The others lose it at once, also if the program goes on, and nobody may use what is
/// half made here. `mdist launch` begins the job again if it reads that nothing is lost: nobody has gone beyond a first
/// commit that a member has not marked.
void Elastic::drop_out(const Failure &failure) {
    const bool has_commit = std::any_of(commits_.begin(), commits_.end(), [](const auto &kept) { return kept.marked; });
    if (failure.reason() == "no_commit" || (!newcomer_ && !has_commit))
        log_error("this worker leaves the job before its first commit (no_commit): ", failure.message());
    job_.elastic.membership()->leave();
    if (job_.comm.group().failed()) return; // all have been told
    job_.leave_generation();
    job_.comm.group().fail(failure);
}

/// Returns false if workers were lost again, or turned away.
bool Elastic::enter(const Generation &next) {
    try {
        job_.enter_generation(next);
        runs_.span_changed();
        graphs_.span_changed(job_.replicas.local_count());
        runs_.before_next(nullptr);
        variables_.span_changed(job_.replicas.devices());
        for (const auto &variable : variables_.all()) variable->span_changed();
        restore(next, job_.comm.link_settings.timeout_ns);
        return true;
    } catch (const std::exception &caught) {
        const Failure failure = as_failure(caught);
        // A GPU that has failed for good ends its worker's regroup. Another failure may come again each time.
        const bool too_often =
            failure.status() == MDIST_ERR_DEVICE && ++losses_ > job_.elastic.settings.max_losses_per_commit;
        if (!is_loss(failure) || failure.reason() == "no_commit" || too_often) {
            drop_out(failure);
            throw;
        }
        log_info("elastic: generation ", next.number, " has failed while it was entered: ", failure.message());
        return false;
    }
}

void Elastic::restore(const Generation &next, uint64_t timeout_ns) {
    if (!next.resume) {
        job_.comm.fail_workers("mdist_regroup", without_commit());
        throw without_commit();
    }
    const State all = state();
    Call call;
    call.kind = &calls::kRegroup;
    if (Workers *const others = job_.other_workers()) take_from_others(*others, call, *next.resume, all, timeout_ns);
    KeptCommit *const found = find(*next.resume);
    if (found == nullptr) throw Failure(MDIST_ERR_INTERNAL, "the store chose a commit that this worker does not have");
    try {
        write_back(all, *found);
    } catch (const Failure &failure) {
        job_.comm.fail_workers("mdist_regroup", failure); // the others wait for this worker
        throw;
    }
    std::erase_if(commits_, [&](const KeptCommit &kept) { return kept.id != *next.resume; });
    keep({next.resume->number, next.number}, commits_[0].step, timeout_ns);
}

/// Gets what this worker lacks of the commit, and gives others what they lack. Of several workers that have something,
/// the one with the lowest rank sends it.
void Elastic::take_from_others(Workers &others, const Call &call, CommitId id, const State &state,
                               uint64_t timeout_ns) {
    Offer mine;
    mine.losses = losses_;
    mine.state = state.text();
    if (const KeptCommit *const own = find(id)) {
        mine.has = true;
        mine.step = own->step;
        mine.has_parts = own->has_parts;
        if (own->has_parts) mine.parts = own->held(job_.replicas.count()).whole;
    }
    std::vector<Offer> offers;
    for (const std::string &blob : others.gather(call, mine.encoded(), timeout_ns))
        offers.push_back(Offer::decoded(blob, static_cast<uint32_t>(offers.size())));
    for (const Offer &offer : offers) losses_ = std::max(losses_, offer.losses);
    const auto source = std::find_if(offers.begin(), offers.end(), [](const Offer &offer) { return offer.has; });
    if (source == offers.end())
        throw Failure(MDIST_ERR_DATA_LOSS, "no worker has the commit to go on from").reason("replica_lost");
    if (mine.state != source->state) throw turned_away(*source, mine);
    for (uint32_t worker = 0; worker < offers.size(); ++worker)
        if (offers[worker].state != source->state)
            throw Failure(MDIST_ERR_PEER_LOST, text(others.name(worker),
                                                    " was turned away, because it has not created "
                                                    "what the job has"))
                .reason("different_program")
                .worker(worker);

    const auto sender = static_cast<uint32_t>(source - offers.begin());
    const auto holder_of = [&](uint32_t replica) {
        uint32_t worker = 0;
        while (worker < offers.size() && !offers[worker].part_is_there(replica)) ++worker;
        return worker;
    };
    KeptCommit received; // kept only when all of it is here: the exchange fails if one more worker is lost
    KeptCommit *const own = find(id);
    bool anybody_lacks = false;
    uint64_t bytes = 0;
    std::vector<std::string> blobs(offers.size());
    for (uint32_t worker = 0; worker < offers.size(); ++worker) {
        Shipment shipment;
        anybody_lacks = anybody_lacks || !offers[worker].has;
        if (!offers[worker].has && sender == others.self()) shipment.add_shared(own->shared);
        const Span &span = job_.replicas.span_of(worker);
        for (uint32_t replica = span.first; source->has_parts && replica < span.last; ++replica) {
            if (offers[worker].part_is_there(replica)) continue;
            anybody_lacks = true;
            if (holder_of(replica) == others.self()) shipment.add(replica, own->parts.at(replica));
        }
        blobs[worker] = shipment.take();
        bytes += blobs[worker].size();
    }
    if (!anybody_lacks) return;
    log_info("elastic: of the commit of step ", source->step, ", this worker sends ", bytes, " bytes to others");
    received.id = id;
    received.marked = true;
    received.step = source->step;
    received.has_parts = source->has_parts;
    KeptCommit &into = own == nullptr ? received : *own;
    const Blobs sent = others.exchange(call, blobs, timeout_ns);
    for (uint32_t worker = 0; worker < sent.size(); ++worker)
        if (worker != others.self()) Shipment::unpack(sent[worker], worker, into);
    if (own != nullptr) return;
    commits_.clear();
    commits_.push_back(std::move(received));
}

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
// Makes a commit, together with the other workers.
#include "strategy/elastic/elastic.h"

#include "comm/workers/workers.h"
#include "data/current_failure.h"
#include "strategy/elastic/holders.h"
#include "strategy/job/call_functions.h"
#include "strategy/job/consensus.h"
#include "strategy/variables/variable.h"
#include "util/fnv.h"
#include "util/forced_unwind.h"
#include "util/host.h"
#include "util/text.h"

#include <new>
#include <utility>

namespace mdist {

void Elastic::commit(uint64_t step, uint64_t timeout_ns) {
    job_.use.require_open();
    job_.require_sound();
    const uint64_t number = commits_.empty() ? 1 : commits_.back().id.number + 1;
    keep({number, job_.elastic.generation()}, step, timeout_ns);
    runs_.before_next(nullptr); // there is no need for commit 0 any more
    losses_ = 0;
}

/// Makes commit 0 before the first run. If a callback of the program fails, the next run tries again.
void Elastic::begin_with_first_run() {
    runs_.before_next([this] {
        try {
            keep({0, job_.elastic.generation()}, 0, 0);
        } catch (...) { // also if the function of the program ends its thread
            if (!job_.comm.end_of_collectives()) begin_with_first_run();
            rethrow();
        }
    });
}

/// In the first commit of a generation, which all of its workers make, they tell each other where they are.
void Elastic::find_holders(Workers &others, const Call &call, uint64_t timeout_ns) {
    if (holders_of_generation_ == job_.elastic.generation()) return;
    const Blobs hosts = others.gather(call, host_identity(), timeout_ns);
    holders_ = choose_holders(hosts, job_.replicas.worker(), job_.elastic.settings.copies);
    holders_of_generation_ = job_.elastic.generation();
}

void Elastic::send_parts(Workers &others, const Call &call, KeptCommit &made, uint64_t timeout_ns) const {
    const uint32_t self = job_.replicas.worker();
    Shipment own;
    for (const auto &[replica, part] : made.parts) own.add(replica, part);
    const std::string bytes = own.take();
    std::vector<std::string> blobs(job_.replicas.worker_count());
    for (const uint32_t holder : holders_) blobs[holder] = bytes;
    const Blobs received = others.exchange(call, blobs, timeout_ns);
    for (uint32_t worker = 0; worker < received.size(); ++worker)
        if (worker != self) Shipment::unpack(received[worker], worker, made);
}

/// Nobody goes back beyond the last commit. Iterators may be past its positions: other threads read meanwhile.
void Elastic::forget_input(const State &state) const {
    const std::vector<uint64_t> &taken = commits_.back().taken;
    for (std::size_t i = 0; i < taken.size(); ++i) state.iterators[i]->forget_before(taken[i]);
}

/// Runs a part of a commit that may fail on this worker alone. Keeps the first failure.
void Elastic::attempt(std::optional<Failure> &failed, FunctionRef<void()> part) const {
    try {
        part();
    } catch (...) {
        if (thread_is_ending()) {
            job_.comm.fail_workers("mdist_commit", thread_ended()); // the others wait for this worker
            rethrow();
        }
        if (!failed) failed = current_failure();
    }
}

/// Waits for all, and marks the commit if no part failed anywhere. Else throws the failure on all workers; they go on,
/// with the commit before.
void Elastic::mark(const Call &call, const std::optional<Failure> &failed, uint64_t timeout_ns) {
    Workers *const others = job_.other_workers();
    try {
        Consensus(job_, call, timeout_ns).gather("", [&] {
            if (failed && others != nullptr) throw Failure(*failed).about(others->name(others->self()));
            if (failed) throw Failure(*failed);
            return std::string();
        });
    } catch (const Failure &) {
        if (failed || !job_.comm.end_of_collectives()) commits_.pop_back(); // nobody can have marked it
        throw;
    } catch (const std::bad_alloc &) { // others may have marked it: then both commits stay until a regroup
        if (failed || others == nullptr) commits_.pop_back();
        job_.comm.fail_workers("mdist_commit", out_of_memory());
        throw;
    }
    commits_.back().marked = true;
    job_.elastic.membership()->note_commit();
}

/// The last commit stays until all have marked this one. If a worker is lost halfway, both are there.
void Elastic::keep(CommitId id, uint64_t step, uint64_t timeout_ns) {
    const uint64_t limit = job_.comm.timeout_or_own(timeout_ns);
    Workers *const others = job_.other_workers();
    const State all = state();
    const std::string subject = text("step ", step, ", commit ", id.number, "\n", all.text());
    const std::string summary = text("step ", step, ", of ", all.mirrored.size() + all.own.size(), " variables, ",
                                     all.iterators.size(), " iterators and ", all.blobs.size(), " blobs, ");
    const Call call = call_about(&calls::kCommit, summary, fnv1a(subject));
    KeptCommit made = std::move(spare_);
    made.id = id;
    made.marked = false;
    made.step = step;
    made.has_parts = all.has_parts();
    std::optional<Failure> failed;
    // The first element of an iterator is taken before the first run, in which the library makes commit 0.
    attempt(failed, [&] { copy(all, id.number == 0, made); });
    if (failed) made.parts.clear(); // the others still wait for what it would send
    if (others != nullptr && made.has_parts)
        attempt(failed, [&] {
            find_holders(*others, call, limit);
            send_parts(*others, call, made, limit);
        });
    if (commits_.size() > 1) commits_.erase(commits_.begin()); // left by a commit that failed in a generation before
    commits_.push_back(std::move(made));
    mark(call, failed, limit);
    if (others != nullptr) others->meet(call, limit);
    forget_input(all);
    if (commits_.size() == 1) return;
    spare_ = std::move(commits_.front());
    commits_.erase(commits_.begin());
}

} // namespace mdist

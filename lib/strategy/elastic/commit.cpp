// SPDX-License-Identifier: Apache-2.0
// Makes a commit, together with the other workers.
#include "strategy/elastic/elastic.h"

#include "comm/workers/workers.h"
#include "strategy/elastic/holders.h"
#include "strategy/job/call_functions.h"
#include "strategy/variables/variable.h"
#include "util/fnv.h"
#include "util/host.h"
#include "util/text.h"

#include <utility>

namespace mdist {

void Elastic::commit(uint64_t step, uint64_t timeout_ns) {
    job_.require_open();
    job_.require_sound();
    runs_.before_next(nullptr); // there is no need for commit 0 any more
    const uint64_t number = commits_.empty() ? 1 : commits_.back().id.number + 1;
    keep({number, job_.generation()}, step, timeout_ns);
    losses_ = 0;
}

/// In the first commit of a generation, which all of its workers make, they tell each other where they are.
void Elastic::find_holders(Workers &others, const Call &call, uint64_t timeout_ns) {
    if (holders_of_generation_ == job_.generation()) return;
    const std::string own = host_identity();
    std::vector<std::string> hosts;
    for (const std::vector<char> &host : others.gather(call, own.data(), own.size(), timeout_ns))
        hosts.emplace_back(host.data(), host.size());
    holders_ = choose_holders(hosts, job_.worker(), job_.elastic().copies);
    holders_of_generation_ = job_.generation();
}

void Elastic::send_parts(Workers &others, const Call &call, KeptCommit &made, uint64_t timeout_ns) const {
    const uint32_t self = job_.worker();
    Shipment own;
    for (const auto &[replica, part] : made.parts) own.add(replica, part);
    const std::string bytes = own.take();
    std::vector<std::string> blobs(job_.worker_count());
    for (const uint32_t holder : holders_) blobs[holder] = bytes;
    const Workers::Blobs received = others.exchange(call, blobs, timeout_ns);
    for (uint32_t worker = 0; worker < received.size(); ++worker)
        if (worker != self) Shipment::unpack({received[worker].data(), received[worker].size()}, worker, made);
}

/// Nobody goes back beyond the only commit.
void Elastic::forget_input(const State &state) const {
    if (commits_.back().id.number == 0) return; // iterators may be past its positions
    for (const auto &iterator : state.iterators) iterator->forget_before_position();
}

/// The last commit stays until all have marked this one. If it fails halfway, both are there.
void Elastic::keep(CommitId id, uint64_t step, uint64_t timeout_ns) {
    const uint64_t limit = job_.timeout_or_own(timeout_ns);
    Workers *const others = job_.other_workers();
    const State all = state();
    const std::string subject = text("step ", step, ", commit ", id.number, "\n", all.text());
    const std::string summary = text("step ", step, ", of ", all.mirrored.size() + all.own.size(), " variables, ",
                                     all.iterators.size(), " iterators and ", all.blobs.size(), " blobs, ");
    Call call;
    call.kind = &calls::kCommit;
    call.subject = fnv1a(subject);
    call.subject_text = summary.c_str();
    KeptCommit made = std::move(spare_);
    made.id = id;
    made.marked = false;
    made.step = step;
    try {
        // The first element of an iterator is taken before the first run, in which the library makes commit 0.
        copy(all, id.number == 0, made);
        if (others != nullptr && made.has_parts) {
            find_holders(*others, call, limit);
            send_parts(*others, call, made, limit);
        }
    } catch (const Failure &failure) {
        job_.fail_workers("mdist_commit", failure); // the others wait for this worker
        throw;
    }
    if (commits_.size() > 1) commits_.erase(commits_.begin()); // left by a commit that failed in a generation before
    commits_.push_back(std::move(made));
    if (others != nullptr) others->meet(call, limit);
    commits_.back().marked = true;
    if (others != nullptr) others->meet(call, limit);
    forget_input(all);
    if (commits_.size() == 1) return;
    spare_ = std::move(commits_.front());
    commits_.erase(commits_.begin());
}

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
// Rounds: records ready gradients, keeps accumulated ones, and starts buckets. The end of a round is in finish.cpp.
#include "strategy/gradients/gradients.h"

#include "device/region.h"
#include "reduce/float_environment.h"
#include "reduce/reduce.h"
#include "strategy/job/call_functions.h"
#include "util/dtype.h"
#include "util/forced_unwind.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {

Gradients::Gradients(std::shared_ptr<Job> job, std::vector<GradientSpec> specs, const GradientOptions &options)
    : job_(std::move(job)), plan_(std::move(specs), options) {
    make_shares();
}

/// Keeps the memory of all shares, by local replica, for the shares that come.
void Gradients::leave_shares() {
    former_.resize(std::max(former_.size(), shares_.size()));
    for (std::size_t i = 0; i < shares_.size(); ++i)
        former_[i] = {std::move(shares_[i]->gradients), std::move(shares_[i]->spare), shares_[i]->place};
    shares_.clear();
    for (uint32_t local = 0; local < std::min<std::size_t>(former_.size(), job_->replicas.local_count()); ++local)
        if (!(former_[local].place == job_->replicas.device(local).place())) // of a newcomer that has its GPUs only now
            elsewhere_.push_back(std::exchange(former_[local], {}));
}

void Gradients::make_shares() {
    const uint32_t count = job_->replicas.local_count();
    leave_shares();
    for (uint32_t local = 0; local < count; ++local) {
        auto share = std::make_unique<Share>();
        const bool lent = plan_.options().lent;
        share->place = job_->replicas.device(local).place();
        if (local < former_.size()) {
            share->gradients = std::move(former_[local].gradients);
            share->spare = std::move(former_[local].spare);
        }
        if (share->gradients)
            job_->replicas.device(local).zero(share->gradients.get(), plan_.bytes());
        else if (!lent)
            share->gradients = job_->comm.allocate_shared(job_->replicas.device(local), plan_.bytes());
        share->lent = std::make_unique<std::atomic<char *>[]>(plan_.count());
        share->data = std::make_unique<std::atomic<char *>[]>(plan_.count());
        for (std::size_t i = 0; !lent && i < plan_.count(); ++i)
            share->data[i] = share->lent[i] = at(share->gradients, plan_.place(i).offset);
        share->spare.resize(lent ? plan_.count() : 0);
        share->packed.resize(lent ? plan_.buffer_count() : 0);
        share->round.packed.resize(lent ? plan_.buffer_count() : 0);
        share->round.ready.resize(plan_.count());
        share->round.kept.resize(plan_.count());
        share->round.missing.resize(plan_.buckets().size());
        share->round.started.reserve(plan_.buckets().size() + 1);
        shares_.push_back(std::move(share));
    }
    for (std::size_t local = count; local < former_.size(); ++local)
        if (former_[local].gradients && former_[local].place.on_host())
            clear_pages(former_[local].gradients.get(), plan_.bytes());
}

void Gradients::check_index(std::size_t index) const {
    if (index >= plan_.count()) throw invalid(text("index is ", index, "; there are ", plan_.count(), " gradients"));
}

Tensor Gradients::tensor(uint32_t local, std::size_t index) const {
    const Share &share = *shares_[local];
    return Tensor::view(data_of(share, index), plan_.spec(index).dtype, plan_.spec(index).shape, share.gradients,
                        job_->replicas.device(local).place());
}

/// Runs a replica's call in its round. The first call opens the round; an exception ends it for good.
void Gradients::in_round(Party &replica, FunctionRef<void(Share &)> call) {
    if (&replica.job() != job_.get()) throw invalid("the gradients belong to another strategy than this replica");
    Share &share = *shares_[replica.local_index()];
    if (!share.round.open) open(replica, share);
    if (share.round.failed)
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      "this round of the gradients has failed; return from the step, the next one begins a new round")
            .reason("step_failed");
    try {
        call(share);
    } catch (...) {
        share.round.failed = true;
        replica.being_ended = nullptr;
        rethrow();
    }
}

void Gradients::open(Party &replica, Share &share) {
    Round &round = share.round;
    replica.unfinished.push_back(shared_from_this());
    // A failed run may have left replicas with different numbers of accumulated rounds.
    const uint64_t epoch = job_->comm.group().failed_runs();
    if (round.epoch != epoch) {
        std::fill(round.kept.begin(), round.kept.end(), 0);
        round.rounds_before = 0;
    }
    round.epoch = epoch;
    for (std::size_t i = 0; plan_.options().lent && i < plan_.count(); ++i)
        share.data[i].store(share.lent[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
    std::fill(round.packed.begin(), round.packed.end(), 0);
    std::fill(round.ready.begin(), round.ready.end(), 0);
    round.ready_count = 0;
    for (std::size_t b = 0; b < round.missing.size(); ++b)
        round.missing[b] = plan_.buckets()[b].end - plan_.buckets()[b].begin;
    round.started.clear();
    round.ending = false;
    round.accumulates = false;
    round.failed = false;
    round.open = true;
}

void Gradients::close(Party &replica, Round &round) noexcept {
    round.open = false;
    round.started.clear();
    replica.being_ended = nullptr;
    auto &held = replica.unfinished;
    const auto self = std::find_if(held.begin(), held.end(), [this](const auto &each) { return each.get() == this; });
    if (self != held.end()) held.erase(self);
}

std::string Gradients::leave(const Party &replica) {
    Round &round = shares_[replica.local_index()]->round;
    if (!round.open) return "";
    round.open = false;
    round.started.clear();
    if (round.failed) return "";
    return text("the step of replica ", replica.id(), " ended within a round of gradients (", round.ready_count, " of ",
                plan_.count(), " ready); mdist_gradients_wait or mdist_gradients_test ends it");
}

void Gradients::accumulate(Party &replica) {
    in_round(replica, [&](Share &share) {
        if (share.round.ready_count != 0)
            throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                          text(share.round.ready_count,
                               " gradients of this round are ready, so their reduction may have begun; call "
                               "mdist_gradients_accumulate before the first mdist_gradients_ready"))
                .reason("round_has_begun");
        if (!share.sums) share.sums = replica.device().allocate(plan_.bytes());
        share.round.accumulates = true;
    });
}

void Gradients::need_not_ready(const Round &round, std::size_t index) const {
    if (round.ready[index])
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      text(plan_.text(index),
                           " is already ready in this round; end it by mdist_gradients_wait or mdist_gradients_test"))
            .reason("ready_twice");
}

void Gradients::ready(Party &replica, std::size_t index) {
    check_index(index);
    in_round(replica, [&](Share &share) {
        need_not_ready(share.round, index);
        need_memory(share, index);
        mark(replica, share, index);
    });
}

void Gradients::mark(Party &replica, Share &share, std::size_t index) {
    Round &round = share.round;
    if (round.accumulates)
        keep(replica, share, index);
    else if (round.rounds_before != 0)
        add_kept(replica, share, index);
    round.ready[index] = 1;
    ++round.ready_count;
    if (--round.missing[plan_.bucket_of(index)] == 0 && !round.accumulates) start_full_buckets(replica, share);
}

/// Adds a gradient to the sums of the rounds before.
void Gradients::keep(Party &replica, Share &share, std::size_t index) {
    const GradientPlan::Stretch place = plan_.place(index);
    const void *const gradient = data_of(share, index);
    void *const sum = at(share.sums, place.offset);
    Device &device = replica.device();
    if (share.round.kept[index]) {
        const reduce::FloatEnvironment environment;
        const void *const sources[] = {sum, gradient};
        device.reduce({place.dtype, reduce::Op::kSum, 1}, sources, 2, &sum, 1, place.elements);
    } else {
        device.copy(sum, gradient, place.elements * dtype_size(place.dtype));
    }
    share.round.kept[index] = 1;
}

/// Adds the sums of the rounds before to a gradient. A mean over replicas is a mean over rounds, too.
void Gradients::add_kept(const Party &replica, Share &share, std::size_t index) {
    const GradientPlan::Stretch place = plan_.place(index);
    void *const gradient = data_of(share, index);
    const void *const sources[] = {gradient, share.round.kept[index] ? at(share.sums, place.offset) : nullptr};
    const bool mean = plan_.options().op == MDIST_MEAN;
    const reduce::FloatEnvironment environment;
    replica.device().reduce({place.dtype, mean ? reduce::Op::kMean : reduce::Op::kSum, share.round.rounds_before + 1},
                            sources, sources[1] == nullptr ? 1 : 2, &gradient, 1, place.elements);
}

void Gradients::start_full_buckets(Party &replica, Share &share) {
    Round &round = share.round;
    const std::size_t before = round.started.size();
    std::vector<mdist_buffer_t> buffers;
    while (round.started.size() < plan_.buckets().size() && round.missing[round.started.size()] == 0) {
        const std::size_t number = round.started.size();
        buffers.clear();
        for (const GradientPlan::Buffer &each : plan_.buckets()[number].buffers)
            buffers.push_back(buffer_of(replica, share, each));
        round.started.push_back(start(replica, round, number, buffers, plan_.options().op));
    }
    if (round.started.size() != before) job_->comm.operations().test(*round.started.back());
}

/// `number` is the bucket's number. The norm's number is one more than the last bucket's.
std::shared_ptr<Operation> Gradients::start(Party &replica, Round &round, std::size_t number,
                                            const std::vector<mdist_buffer_t> &buffers, int32_t op) {
    Call call = call_of(&calls::kGradients, op, buffers.data(), buffers.data(), buffers.size());
    call.subject = plan_.hash() ^ (round.rounds_before << 32 | (number + 1)) * 0x9e3779b97f4a7c15;
    call.subject_text = subject(round, number).c_str();
    return job_->comm.operations().start(replica.local_index(), call, 0);
}

/// Short: workers tell each other the first 16 bytes of it.
const std::string &Gradients::subject(Round &round, std::size_t number) {
    if (round.subjects_for != round.rounds_before + 1) {
        const std::string rounds = round.rounds_before == 0 ? "" : text(round.rounds_before + 1, " rounds, ");
        round.subjects.clear();
        for (std::size_t b = 0; b < plan_.buckets().size(); ++b)
            round.subjects.push_back(text(rounds, rounds.empty() ? "bucket " : "#", b, ", "));
        round.subjects.push_back(text(rounds, "norm, "));
        round.subjects_for = round.rounds_before + 1;
    }
    return round.subjects[number];
}

} // namespace mdist

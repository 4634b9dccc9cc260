// SPDX-License-Identifier: Apache-2.0
// The end of a round: once all buckets are reduced, computes the norm, and clips the gradients.
#include "device/gpu/gpu.h"
#include "reduce/float_environment.h"
#include "reduce/reduce.h"
#include "strategy/gradients/gradients.h"
#include "util/dtype.h"
#include "util/text.h"

#include <algorithm>
#include <cmath>

namespace mdist {
namespace {

constexpr std::size_t kNamed = 4; // missing gradients that an error names

// Not inlined, so that they are computed in the floating-point environment that their callers set.
__attribute__((noinline)) double quotient(double a, double b) {
    return a / b;
}

__attribute__((noinline)) double root_of_sum(const std::vector<double> &terms) {
    double sum = 0;
    for (const double term : terms) sum += term;
    return std::sqrt(sum);
}

} // namespace

Failure Gradients::missing(const Round &round) const {
    std::string names;
    std::size_t named = 0;
    for (std::size_t i = 0; i < plan_.count() && named < kNamed; ++i)
        if (!round.ready[i]) names += text(named++ == 0 ? "" : ", ", plan_.text(i));
    const std::size_t absent = plan_.count() - round.ready_count;
    if (absent > named) names += text(" and ", absent - named, " more");
    return Failure(MDIST_ERR_FAILED_PRECONDITION,
                   text(names, absent == 1 ? " is" : " are",
                        " not ready; call mdist_gradients_ready for each, or use MDIST_GRADIENTS_ZERO_MISSING"))
        .reason("gradients_missing");
}

/// A gradient without memory gets some of the library's, so that its sum over the other replicas has a place.
void Gradients::make_zero(const Party &replica, Share &share, std::size_t index) {
    const std::size_t bytes = plan_.bytes_of(index);
    if (data_of(share, index) == nullptr) {
        if (!share.spare[index]) share.spare[index] = replica.device().allocate(bytes);
        share.data[index].store(at(share.spare[index], 0), std::memory_order_relaxed);
    }
    replica.device().zero(data_of(share, index), bytes);
}

/// Handles gradients that did not become ready: an error, or zeros. A round that accumulates adds nothing for them.
void Gradients::settle_missing(Party &replica, Share &share) {
    Round &round = share.round;
    if (round.ready_count == plan_.count()) return;
    if (!plan_.options().zero_missing) throw missing(round);
    for (std::size_t i = plan_.count(); i-- > 0 && !round.accumulates;) {
        if (round.ready[i]) continue;
        make_zero(replica, share, i);
        mark(replica, share, i);
    }
}

bool Gradients::end(Party &replica, Outcome &outcome, Over over) {
    bool ended = false;
    in_round(replica, [&](Share &share) {
        Round &round = share.round;
        settle_missing(replica, share);
        if (round.accumulates) {
            ++round.rounds_before;
        } else {
            if (!round.ending) begin_end(replica, round);
            if (!finish(replica, share, outcome, over)) return;
            std::fill(round.kept.begin(), round.kept.end(), 0);
            round.rounds_before = 0;
        }
        close(replica, round);
        ended = true;
    });
    return ended;
}

void Gradients::begin_end(Party &replica, Round &round) {
    round.squares.assign(plan_.options().norm ? plan_.block_count() : 0, 0);
    round.squares_on_gpu.reset();
    round.buckets_over = 0;
    round.ending = true;
    replica.being_ended = this;
}

/// Whether all buckets are reduced and clipped.
bool Gradients::finish(Party &replica, Share &share, Outcome &outcome, Over over) {
    if (!buckets_over(replica, share, over)) return false;
    if (!plan_.options().norm) return true;
    if (!norm_over(replica, share, over)) return false;
    const reduce::FloatEnvironment environment;
    outcome.norm = root_of_sum(share.round.squares);
    outcome.finite = std::isfinite(outcome.norm);
    clip(replica, share, outcome);
    return true;
}

/// Reads a reduced bucket again for the norm while later buckets are still under way.
bool Gradients::buckets_over(const Party &replica, Share &share, Over over) {
    Round &round = share.round;
    Device &device = replica.device();
    for (; round.buckets_over < plan_.buckets().size(); ++round.buckets_over) {
        if (!over(*round.started[round.buckets_over])) return false;
        const GradientPlan::Bucket &bucket = plan_.buckets()[round.buckets_over];
        if (plan_.options().lent) unpack(replica, share, bucket);
        if (plan_.options().norm) add_squares(replica, share, bucket);
    }
    if (!round.squares_on_gpu) return true;
    device.copy_out(round.squares.data(), round.squares_on_gpu.get(), round.squares.size() * sizeof(double));
    round.squares_on_gpu.reset();
    return true;
}

/// Adds this replica's terms of the norm: every Nth block, so that all replicas have about as much to do in each
/// bucket.
void Gradients::add_squares(const Party &replica, Share &share, const GradientPlan::Bucket &bucket) {
    const uint32_t replicas = job_->replicas.count();
    Gpu *const gpu = replica.device().gpu();
    Round &round = share.round;
    if (gpu != nullptr && !round.squares_on_gpu) {
        const std::size_t bytes = round.squares.size() * sizeof(double);
        round.squares_on_gpu = replica.device().allocate(bytes);
        replica.device().zero(round.squares_on_gpu.get(), bytes);
    }
    const reduce::FloatEnvironment environment;
    std::vector<mdist_gpu_squares> on_gpu; // of the whole bucket, for one call
    for (std::size_t i = bucket.end; i-- > bucket.begin;) {
        const int32_t dtype = plan_.spec(i).dtype;
        for (uint64_t at = 0; at < plan_.block_count(i); ++at) {
            const GradientPlan::Block block = plan_.block(i, at);
            if (block.number % replicas != replica.id()) continue;
            const void *const data = data_of(share, i) + block.begin * dtype_size(dtype);
            if (gpu != nullptr)
                on_gpu.push_back(
                    {dtype, data, block.elements, static_cast<double *>(round.squares_on_gpu.get()) + block.number});
            else
                round.squares[block.number] = reduce::sum_of_squares(dtype, data, block.elements);
        }
    }
    if (gpu != nullptr) gpu->squares(on_gpu);
}

/// Exchanges the terms between all replicas, each added to zeros.
bool Gradients::norm_over(Party &replica, Share &share, Over over) {
    Round &round = share.round;
    if (round.started.size() == plan_.buckets().size()) {
        const mdist_buffer_t buffer = {round.squares.data(), round.squares.size(), MDIST_FLOAT64, 0};
        round.started.push_back(start(replica, round, plan_.buckets().size(), {buffer}, MDIST_SUM));
    }
    return over(*round.started.back());
}

/// Does nothing if the norm is neither too large nor infinite.
void Gradients::clip(const Party &replica, const Share &share, const Outcome &outcome) const {
    const GradientOptions &options = plan_.options();
    Device &device = replica.device();
    if (!outcome.finite) {
        if (options.zero_nonfinite) zero_all(replica, share);
        return;
    }
    if (options.clip_norm == 0 || outcome.norm <= options.clip_norm) return;
    const reduce::FloatEnvironment environment;
    const double factor = quotient(options.clip_norm, outcome.norm);
    for (const GradientPlan::Bucket &bucket : plan_.buckets()) {
        for (const GradientPlan::Buffer &each : bucket.buffers) {
            if (!options.lent) {
                device.scale(each.dtype, at(share.gradients, each.offset), factor, each.elements);
            } else if (char *const first = in_one_piece(share, each)) {
                device.scale(each.dtype, first, factor, each.elements);
            } else {
                for (const std::size_t i : each.gradients)
                    device.scale(each.dtype, data_of(share, i), factor, plan_.place(i).elements);
            }
        }
    }
}

void Gradients::zero_all(const Party &replica, const Share &share) const {
    Device &device = replica.device();
    if (!plan_.options().lent) return device.zero(share.gradients.get(), plan_.bytes());
    for (std::size_t i = 0; i < plan_.count(); ++i) device.zero(data_of(share, i), plan_.bytes_of(i));
}

} // namespace mdist

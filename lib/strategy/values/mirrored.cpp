// SPDX-License-Identifier: Apache-2.0
#include "strategy/values/mirrored.h"

#include "reduce/float_environment.h"
#include "reduce/reduce.h"

#include <utility>

namespace mdist {
namespace {

constexpr std::size_t kGroupBytes = 32768;        // per replica; taking a group costs a line of the cache to move
constexpr std::size_t kLargestOverlapped = 65536; // bytes; larger leaves are better cut among the threads
constexpr std::size_t kWorthThreads = 262144;     // bytes per replica; below, waking threads costs more than it saves
constexpr std::size_t kNoGroup = SIZE_MAX / 4;

/// A value of its own, which keeps no others' memory.
template <class Make>
ValuePointer mirrored_alone(uint32_t locals, Make &&make_tensor) {
    std::vector<Tensor> tensors;
    tensors.reserve(locals);
    for (uint32_t local = 0; local < locals; ++local) tensors.push_back(make_tensor(local));
    return Value::mirrored(std::move(tensors));
}

} // namespace

MirroredReduction::MirroredReduction(Job &job, const View &view, const Asker &asker, int32_t op)
    : job_(job), asker_(asker), op_(op), locals_(view.replicas), replicas_(job.replicas.count()) {
    results_.reserve(locals_);
    for (uint32_t local = 0; local < locals_; ++local) results_.emplace_back(job.reach.place(local));
}

MirroredReduction::~MirroredReduction() {
    taken_.store(kNoGroup, std::memory_order_relaxed);
    announce(2 * groups_ + 1);
    fork_.reset();
}

void MirroredReduction::expect(const Value &leaf) {
    const std::size_t bytes = leaf.tensors()[0].bytes();
    for (const Tensor &tensor : leaf.tensors().subspan(1)) __builtin_prefetch(&tensor); // for add()
    for (Results &results : results_) results.expect(bytes);
    ++expected_;
    if (bytes > kLargestOverlapped || bytes_ >= kWorthThreads) return;
    bytes_ += bytes;
    if (bytes_ >= kWorthThreads && may_overlap()) start_overlapping();
}

ValuePointer MirroredReduction::add(const Value &leaf) {
    if (forms_ == nullptr) prepare();
    const std::span<const Tensor> from = leaf.tensors();
    const std::size_t bytes = from[0].bytes();
    if (overlaps_ && bytes > kLargestOverlapped) stop_overlapping();
    forms_[count_] = {from[0].elements(), from[0].dtype()};
    void **const memory = memory_of(count_);
    const auto result_of = [&](std::size_t local) {
        if (overlaps_ && !from[local].on_host()) stop_overlapping();
        Tensor result = results_[local].allocate_like(from[local], bytes);
        memory[local] = from[local].data();
        memory[locals_ + local] = result.data();
        return result;
    };
    ValuePointer value =
        expected_ == 1 ? mirrored_alone(locals_, result_of) : values_.make(MDIST_VALUE_MIRRORED, locals_, result_of);
    ++count_;
    if (overlaps_ && (group_bytes_ += bytes) >= kGroupBytes) release_group();
    return value;
}

void MirroredReduction::finish(const Asker &asker) {
    stop_overlapping();
    if (fork_) reduce_ready(0);
    fork_.reset();
    if (count_ > overlapped_) reduce_rest(asker);
}

void MirroredReduction::prepare() {
    forms_.reset(new Form[expected_]);
    memory_.reset(new void *[expected_ * 2 * locals_]);
    ends_.reset(new std::size_t[expected_]);
}

/// Whether the replicas' threads may reduce leaves one by one.
bool MirroredReduction::may_overlap() const {
    return locals_ > 1 && locals_ == job_.replicas.local_count() && job_.concurrent() && job_.comm.gpus() == nullptr &&
           asker_.packing.one_operation() && job_.workers() == nullptr;
}

/// Wakes the threads, which takes them about as long as the caller needs until it can add the first leaf. The team
/// takes no other work until finish().
void MirroredReduction::start_overlapping() {
    job_.use.require_open();
    fork_.emplace(job_.team(), work_);
    overlaps_ = true;
}

/// Leaves that are added from here on are reduced in finish().
void MirroredReduction::stop_overlapping() noexcept {
    if (!overlaps_) return;
    if (count_ > overlapped_) release_group();
    overlaps_ = false;
    announce(2 * groups_ + 1);
}

/// Lets the threads have the leaves that were added since the last group.
void MirroredReduction::release_group() noexcept {
    ends_[groups_++] = count_;
    overlapped_ = count_;
    group_bytes_ = 0;
    announce(2 * groups_);
}

void MirroredReduction::announce(std::size_t ready) noexcept {
    ready_.store(ready, std::memory_order_release);
    news_.advance();
}

/// Reduces the leaves that were in no group, together.
void MirroredReduction::reduce_rest(const Asker &asker) {
    const std::size_t count = count_ - overlapped_;
    std::vector<mdist_buffer_t> inputs(locals_ * count);
    std::vector<mdist_buffer_t> outputs(locals_ * count);
    for (std::size_t i = 0; i < count; ++i) {
        const Form &form = forms_[overlapped_ + i];
        void *const *const memory = memory_of(overlapped_ + i);
        for (uint32_t local = 0; local < locals_; ++local) {
            inputs[local * count + i] = {memory[local], form.elements, form.dtype, 0};
            outputs[local * count + i] = {memory[locals_ + local], form.elements, form.dtype, 0};
        }
    }
    all_reduce_own(job_, asker, op_, inputs.data(), outputs.data(), count);
}

/// Waits until the group is ready. Returns false if it never will be.
bool MirroredReduction::await(std::size_t group) const {
    for (;;) {
        const uint32_t seen = news_.now();
        const std::size_t ready = ready_.load(std::memory_order_acquire);
        if (group < ready / 2) return true;
        if (ready % 2 != 0) return false;
        news_.wait(seen, job_.comm.group().patience(), kNoDeadline);
    }
}

void MirroredReduction::reduce_ready(uint32_t) {
    const reduce::FloatEnvironment environment;
    for (;;) {
        const std::size_t group = taken_.fetch_add(1, std::memory_order_relaxed);
        if (!await(group)) return;
        const std::size_t end = ends_[group];
        for (std::size_t leaf = group == 0 ? 0 : ends_[group - 1]; leaf < end; ++leaf) {
            if (leaf + 1 < end) fetch_leaf(leaf + 1);
            reduce_leaf(leaf);
        }
    }
}

/// Brings the beginning of a leaf into the cache. From there on the processor sees by itself what comes next.
void MirroredReduction::fetch_leaf(std::size_t leaf) const {
    constexpr std::size_t kLine = 64;
    constexpr std::size_t kFirst = 4 * kLine;
    const char *const *const memory = reinterpret_cast<const char *const *>(memory_of(leaf));
    for (uint32_t local = 0; local < locals_; ++local) {
        for (std::size_t at = 0; at < kFirst; at += kLine) __builtin_prefetch(memory[local] + at);
        __builtin_prefetch(memory[locals_ + local], 1);
    }
}

void MirroredReduction::reduce_leaf(std::size_t leaf) const {
    const Form &form = forms_[leaf];
    void *const *const memory = memory_of(leaf);
    reduce::reduce({form.dtype, static_cast<reduce::Op>(op_), replicas_}, memory, locals_, memory + locals_, locals_,
                   form.elements);
}

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
#include "strategy/steps/frame.h"

#include "comm/device/gpu_group.h"
#include "comm/operation_queue.h"
#include "device/gpu/gpu.h"
#include "strategy/context.h"
#include "strategy/gradients/gradients.h"
#include "strategy/strategy.h"
#include "strategy/values/structure.h"
#include "util/callback.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {

Replica::Replica(Strategy &strategy, Frame &frame, uint32_t local_index)
    : strategy_(strategy), frame_(frame), local_index_(local_index) {}

uint32_t Replica::id() const {
    return strategy_.first_replica_id() + local_index_;
}

namespace {

const Value &argument_of(const Frame &frame, std::size_t index) {
    const auto &arguments = frame.arguments();
    if (index >= arguments.size())
        throw invalid(text("argument index is ", index, "; this run has ", arguments.size(), " arguments"));
    return *arguments[index];
}

void check_result(std::size_t index, std::size_t count) {
    if (index >= count) throw invalid(text("result index is ", index, "; this run has ", count, " results"));
}

} // namespace

const Tensor &Replica::argument(std::size_t index) const {
    const Value &value = argument_of(frame_, index);
    if (value.is_structure()) throw value.refused(text("argument ", index));
    return value.tensor_for(local_index_);
}

const Tensor &Replica::argument_at(std::size_t index, std::string_view path) const {
    return leaf_of(argument_of(frame_, index), path, text("argument ", index)).tensor_for(local_index_);
}

void Replica::set_result(std::size_t index, Tensor tensor) {
    check_result(index, results.size());
    results[index] = std::move(tensor);
}

void Replica::set_result_at(std::size_t index, std::string_view path, Tensor tensor) {
    if (path.empty()) return set_result(index, std::move(tensor));
    check_result(index, results.size());
    check_path(path);
    structured_results.resize(results.size());
    structured_results[index].push_back({std::string(path), std::move(tensor)});
}

Part Replica::take_result(std::size_t index) {
    Part part;
    if (!structured_results.empty()) part = sorted_part(std::exchange(structured_results[index], {}));
    if (results[index].defined()) part.insert(part.begin(), {std::string(), std::exchange(results[index], Tensor())});
    return part;
}

void Replica::set_merge_argument_at(std::size_t index, std::string_view path, Tensor tensor) {
    constexpr std::size_t kMost = 1024;
    if (index >= kMost) throw invalid(text("argument index is ", index, "; a merge has less than ", kMost));
    check_path(path);
    merge_parts_.resize(std::max(merge_parts_.size(), index + 1));
    merge_parts_[index].push_back({std::string(path), std::move(tensor)});
}

std::vector<Part> Replica::take_merge_parts(std::size_t count) {
    std::vector<Part> parts = std::exchange(merge_parts_, {});
    if (parts.size() > count)
        throw invalid(text("argument ", parts.size() - 1,
                           " was set by mdist_replica_set_merge_argument_at, and this "
                           "merge has ",
                           count, " arguments"));
    parts.resize(count);
    for (Part &part : parts) part = sorted_part(std::move(part));
    return parts;
}

const Tensor &Replica::merged_at(std::size_t index, std::string_view path) const {
    if (index >= merged.size())
        throw invalid(text("result index is ", index, "; the last merge gave ", merged.size(), " results"));
    const std::string what = text("result ", index, " of the merge");
    if (!merged[index]) throw Failure(MDIST_ERR_NOT_FOUND, text(what, " was left alone by the merge function"));
    return leaf_of(*merged[index], path, what).tensor_for(local_index_);
}

void Replica::require_together(const char *function) const {
    if (!entered.load(std::memory_order_relaxed)) strategy_.require_concurrent(function);
}

void Replica::await_turn(const char *function) {
    require_together(function);
    strategy_.operations().await_turn(local_index_);
}

/// True if the step should have ended a round before.
bool Replica::leave_rounds() noexcept {
    bool left = false;
    for (const auto &each : gradients) {
        try {
            const std::string sentence = each->leave(*this);
            if (sentence.empty()) continue;
            left = true;
            release_failure(strategy_.group(), "mdist_run", id(),
                            Failure(MDIST_ERR_FAILED_PRECONDITION, sentence).reason("work_under_way"));
        } catch (const std::bad_alloc &) {
            left = true;
            strategy_.group().release(Failure(MDIST_ERR_OUT_OF_MEMORY, "out of memory"));
        }
    }
    return left;
}

bool Replica::end_work() noexcept {
    const bool left = leave_rounds();
    const bool worked = strategy_.operations().end(local_index_, [this](const Operation &first) {
        return Failure(MDIST_ERR_FAILED_PRECONDITION, text("the step of replica ", id(), " ended while its ",
                                                           first.name(), "_start was under way; wait for it first"))
            .operation(first.name())
            .replica(static_cast<int32_t>(id()))
            .reason("work_under_way");
    });
    // What was started and not waited for is waited for with the rest of the stream.
    join_lanes();
    gradients.clear(); // nothing reads or writes their memory any more
    return left || worked;
}

void Replica::join_lanes() noexcept {
    GpuGroup *const gpus = strategy_.gpus();
    if (gpus == nullptr) return;
    try {
        gpus->join(local_index_);
    } catch (const Failure &failure) {
        release_failure(strategy_.group(), "mdist_run", id(), failure);
    } catch (const std::exception &) {
        strategy_.group().release(Failure(MDIST_ERR_OUT_OF_MEMORY, "out of memory"));
    }
}

void Replica::finish_device() const {
    Device &device = strategy_.device(local_index_);
    try {
        device.finish();
    } catch (Failure &failure) {
        throw std::move(failure).about(text("replica ", id())).replica(static_cast<int32_t>(id()));
    }
}

void Replica::begin_device() {
    Gpu *const gpu = strategy_.device(local_index_).gpu();
    if (gpu == nullptr) return;
    timeout_before_ = gpu->timeout();
    gpu->set_timeout(strategy_.group().timeout());
    stream_before_ = gpu->stream();
}

bool Replica::end_device() noexcept {
    Gpu *const gpu = strategy_.device(local_index_).gpu();
    if (gpu == nullptr) return true;
    struct Ending {
        Gpu &gpu;
        uint64_t timeout_ns;
        ~Ending() { gpu.set_timeout(timeout_ns); }
    };
    const Ending ending{*gpu, timeout_before_};
    try {
        gpu->return_to(stream_before_);
        finish_device();
        return true;
    } catch (const Failure &failure) {
        release_failure(strategy_.group(), "mdist_run", id(), failure);
    } catch (const std::exception &) {
        strategy_.group().release(Failure(MDIST_ERR_OUT_OF_MEMORY, "out of memory"));
    }
    return false;
}

Frame::Frame(Strategy &strategy, uint32_t depth) : strategy_(strategy), depth_(depth) {
    for (uint32_t local = 0; local < strategy.local_replica_count(); ++local)
        replicas_.push_back(std::make_unique<Replica>(strategy, *this, local));
}

void Frame::begin(std::vector<ValuePointer> arguments, std::size_t result_count) {
    for (const auto &replica : replicas_) replica->results.resize(result_count);
    arguments_ = std::move(arguments);
    result_count_ = result_count;
}

void Frame::clear() noexcept {
    arguments_.clear();
    shared = Shared();
    for (const auto &replica : replicas_) {
        replica->results.clear();
        replica->structured_results.clear();
        replica->merge_arguments.clear();
        replica->merged.clear();
        replica->merge_parts_.clear();
        if (!replica->last_failure.empty()) replica->last_failure.clear(); // its line stays with the replica's core
    }
}

void release_callback(Group &group, const char *operation, uint32_t replica, int64_t native,
                      FunctionRef<std::string()> sentence) noexcept {
    const auto id = static_cast<int32_t>(replica);
    try {
        group.release(Failure(MDIST_ERR_CALLBACK, sentence()).operation(operation).replica(id).native(native));
    } catch (...) {
        group.release(Failure(MDIST_ERR_OUT_OF_MEMORY, "out of memory").replica(id));
    }
}

void release_failure(Group &group, const char *operation, uint32_t replica, const Failure &failure) noexcept {
    const auto id = static_cast<int32_t>(replica);
    try {
        Failure cause = failure;
        if (cause.operation().empty()) std::move(cause).operation(operation);
        if (cause.replica() < 0) std::move(cause).replica(id);
        group.release(cause);
    } catch (...) {
        group.release(Failure(failure.status(), "out of memory").replica(id));
    }
}

void release_ended(Group &group, uint32_t replica) noexcept {
    release_callback(group, "mdist_run", replica, 0,
                     [replica] { return text("the step of replica ", replica, " ended its thread"); });
}

void Frame::execute(uint32_t local, const Step &step) {
    Replica &replica = *replicas_[local];
    Group &group = strategy_.group();
    struct Departure {
        Group &group;
        Replica &replica;
        ~Departure() {
            replica.end_work();
            replica.end_device();
            group.depart(replica.local_index());
        }
    };
    replica.begin_device();
    const Departure departure{group, replica};
    const Context context(replica);
    const uint32_t id = replica.id();
    try {
        const int32_t code = step(replica);
        if (code == 0) return;
        release_callback(group, "mdist_run", id, code, [&] {
            return callback_returned(text("the step of replica ", id), code, replica.last_failure).message();
        });
    } catch (const Failure &failure) {
        release_failure(group, "mdist_run", id, failure);
    } catch (const std::exception &) { // the library's own, before the step began
        group.release(Failure(MDIST_ERR_OUT_OF_MEMORY, "out of memory").replica(static_cast<int32_t>(id)));
    } catch (...) {
        release_ended(group, id);
        throw;
    }
}

std::vector<ValuePointer> Frame::take_results() {
    std::vector<ValuePointer> values(result_count_);
    const bool structured = std::any_of(replicas_.begin(), replicas_.end(),
                                        [](const auto &replica) { return !replica->structured_results.empty(); });
    try {
        for (std::size_t index = 0; index < result_count_; ++index)
            values[index] = structured ? take_parts(index) : take_tensors(index);
    } catch (const Failure &failure) {
        // The run has failed, and other workers are to hear of it as of any other failure.
        release_failure(strategy_.group(), "mdist_run", replicas_[0]->id(), failure);
        throw;
    }
    return values;
}

/// A result that no replica set at a path.
ValuePointer Frame::take_tensors(std::size_t index) {
    std::vector<Tensor> tensors;
    uint32_t missing = 0;
    uint32_t without = 0;
    for (uint32_t local = 0; local < replicas_.size(); ++local) {
        Tensor &tensor = replicas_[local]->results[index];
        if (!tensor.defined()) {
            ++missing;
            without = local;
        }
        tensors.push_back(std::move(tensor));
    }
    if (missing == replicas_.size()) return nullptr;
    if (missing != 0)
        throw Failure(MDIST_ERR_MISMATCH, text("result ", index, " was set by some replicas, but not by replica ",
                                               replicas_[without]->id()))
            .replica(static_cast<int32_t>(replicas_[without]->id()))
            .reason("missing_result");
    return tensors.size() == 1 ? Value::plain(std::move(tensors[0]))
                               : Value::per_replica(std::move(tensors), text("result ", index).c_str());
}

ValuePointer Frame::take_parts(std::size_t index) {
    std::vector<Part> parts;
    for (const auto &replica : replicas_) parts.push_back(replica->take_result(index));
    return regroup(text("result ", index), std::move(parts), replicas_[0]->id());
}

} // namespace mdist

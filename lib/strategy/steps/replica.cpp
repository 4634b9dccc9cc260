// SPDX-License-Identifier: Apache-2.0
#include "strategy/steps/replica.h"

#include "comm/device/gpu_group.h"
#include "comm/mail/mail.h"
#include "device/gpu/gpu.h"
#include "device/transfer/transfer.h"
#include "strategy/job/release.h"
#include "strategy/values/structure.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

const Value &argument_of(const std::vector<ValuePointer> &arguments, std::size_t index) {
    if (index >= arguments.size())
        throw invalid(text("argument index is ", index, "; this run has ", arguments.size(), " arguments"));
    return *arguments[index];
}

void check_result(std::size_t index, std::size_t count) {
    if (index >= count) throw invalid(text("result index is ", index, "; this run has ", count, " results"));
}

} // namespace

const Tensor &Replica::argument(std::size_t index) {
    const Value &value = argument_of(common_.arguments, index);
    if (value.is_structure()) throw value.refused(text("argument ", index));
    return near(value.tensor_for(local_index()));
}

const Tensor &Replica::argument_at(std::size_t index, std::string_view path) {
    return near(
        leaf_of(argument_of(common_.arguments, index), path, text("argument ", index)).tensor_for(local_index()));
}

const Tensor &Replica::near(const Tensor &tensor) {
    if (tensor.on_host() || tensor.place() == device().place()) return tensor;
    for (const Near &each : near_)
        if (each.tensor.data() == tensor.data() && each.tensor.dtype() == tensor.dtype() &&
            each.tensor.shape() == tensor.shape())
            return each.copy;
    return near_.emplace_back(Near{tensor, usable_on(device(), tensor)}).copy;
}

void Replica::set_result(std::size_t index, std::string_view path, Tensor tensor) {
    check_result(index, results.size());
    if (path.empty()) {
        results[index] = std::move(tensor);
        return;
    }
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

void Replica::set_merge_argument(std::size_t index, std::string_view path, Tensor tensor) {
    constexpr std::size_t kMost = 1024;
    if (index >= kMost) throw invalid(text("argument index is ", index, "; a merge has fewer than ", kMost));
    check_path(path);
    merge_parts_.resize(std::max(merge_parts_.size(), index + 1));
    merge_parts_[index].push_back({std::string(path), std::move(tensor)});
}

std::vector<Part> Replica::take_merge_parts(std::size_t count) {
    std::vector<Part> parts = std::exchange(merge_parts_, {});
    if (parts.size() > count)
        throw invalid(text("argument ", parts.size() - 1,
                           " was set by mdist_replica_set_merge_argument, but this merge has ", count, " arguments"));
    parts.resize(count);
    for (Part &part : parts) part = sorted_part(std::move(part));
    return parts;
}

const Tensor &Replica::merged_at(std::size_t index, std::string_view path) {
    if (index >= merged.size())
        throw invalid(text("result index is ", index, "; the last merge gave ", merged.size(), " results"));
    const std::string what = text("result ", index, " of the merge");
    if (!merged[index]) throw Failure(MDIST_ERR_NOT_FOUND, text(what, " was not set by the merge function"));
    return near(leaf_of(*merged[index], path, what).tensor_for(local_index()));
}

/// Returns true if the step left something open that it should have ended.
bool Replica::leave_unfinished() noexcept {
    bool left = false;
    for (const auto &each : unfinished) {
        try {
            const std::string sentence = each->leave(*this);
            if (sentence.empty()) continue;
            left = true;
            release_failure(job().comm.group(), "mdist_run", id(),
                            Failure(MDIST_ERR_FAILED_PRECONDITION, sentence).reason("work_under_way"));
        } catch (const std::bad_alloc &) {
            left = true;
            job().comm.group().release(out_of_memory());
        }
    }
    return left;
}

bool Replica::end_work() noexcept {
    const bool left = leave_unfinished();
    bool worked = false;
    each_seat([&](const Seat &seat) {
        worked |= seat.operations.end(seat.party, [this](const Operation &first) {
            return Failure(MDIST_ERR_FAILED_PRECONDITION,
                           text("the step of replica ", id(), " ended while the ", first.name(),
                                " that it had started was under way; wait for it first"))
                .operation(first.name())
                .replica(id())
                .reason("work_under_way");
        });
    });
    const bool posted = job().comm.mail().end_step(local_index(), *run, [this](const Post &first) {
        return Failure(MDIST_ERR_FAILED_PRECONDITION,
                       text("the step of replica ", id(), " ended while the ", first.function(),
                            " that it had started was under way (tag ", first.key.tag, "); wait for it first"))
            .operation(first.function())
            .replica(id())
            .reason("work_under_way");
    });
    // Operations that were started and not waited for are waited for with the rest of the stream.
    join_lanes();
    unfinished.clear(); // nothing uses their memory any more
    being_ended = nullptr;
    return left || worked || posted;
}

void Replica::join_lanes() noexcept {
    if (job().comm.gpus() == nullptr) return;
    each_seat([this](const Seat &seat) {
        try {
            seat.executors.gpus()->join(seat.party);
        } catch (const Failure &failure) {
            release_failure(job().comm.group(), "mdist_run", id(), failure);
        } catch (const std::exception &) {
            job().comm.group().release(out_of_memory());
        }
    });
}

void Replica::begin_device() {
    Gpu *const gpu = device().gpu();
    if (gpu == nullptr) return;
    timeout_before_ = gpu->timeout();
    gpu->set_timeout(job().comm.group().timeout());
    stream_before_ = gpu->stream();
}

bool Replica::end_device() noexcept {
    Gpu *const gpu = device().gpu();
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
        release_failure(job().comm.group(), "mdist_run", id(), failure);
    } catch (const std::exception &) {
        job().comm.group().release(out_of_memory());
    }
    return false;
}

std::optional<Failure> Replica::lost_device() noexcept {
    if (device().gpu() == nullptr || !job().elastic.on()) return std::nullopt;
    for (const auto &each : unfinished) each->free_device();
    try {
        finish_device();
    } catch (const Failure &failure) {
        return failure;
    } catch (const std::exception &) {
        // Out of memory: the step's own failure will do.
    }
    return std::nullopt;
}

void Replica::clear() noexcept {
    results.clear();
    structured_results.clear();
    merge_arguments.clear();
    merged.clear();
    merge_parts_.clear();
    near_.clear();
    last_failure.clear();
    said.clear();
}

void LastFailure::note(std::string sentence) noexcept {
    const std::lock_guard lock(mutex_);
    sentence_ = std::move(sentence);
    any_.store(true, std::memory_order_release);
}

std::string LastFailure::sentence() const {
    if (!any_.load(std::memory_order_acquire)) return {};
    const std::lock_guard lock(mutex_);
    return sentence_;
}

void LastFailure::clear() noexcept {
    if (!any_.load(std::memory_order_acquire)) return; // its cache line stays with the replica's core
    const std::lock_guard lock(mutex_);
    sentence_.clear();
    any_.store(false, std::memory_order_release);
}

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
#include "strategy/values/cross_gpu.h"

#include "device/gpu/gpu.h"
#include "device/tensor.h"
#include "strategy/job/job.h"
#include "util/dtype.h"

#include <algorithm>
#include <deque>
#include <map>

namespace mdist {
namespace {

using Buffers = std::vector<mdist_buffer_t>;

Place place_of_buffer(const Job &job, std::size_t local, const mdist_buffer_t &buffer) {
    return buffer.elements == 0 ? Place()
                                : place_of(buffer.data, job.reach.place(static_cast<uint32_t>(local)).place().index);
}

bool reaches(const Gpu &gpu, const Place &place) {
    if (place == gpu.place()) return true;
    int32_t can = 0;
    const PhysicalGpu &physical = gpu.physical();
    physical.check(physical.api().can_reach(gpu.index(), place.index, &can), "asking which GPUs it reaches");
    return can != 0;
}

/// Host copies of the buffers that calls use.
class Staged {
  public:
    Staged(const Job &job, const std::vector<Call> &calls) : job_(job), calls_(calls) {
        for (std::size_t local = 0; local < calls_.size(); ++local) {
            Call &call = calls_[local];
            call.inputs = staged(local, call.inputs, call.buffer_count, true);
            call.outputs = staged(local, call.outputs, call.buffer_count, false);
        }
    }

    std::vector<Call> &calls() { return calls_; }

    void copy_back() const {
        for (const auto &[data, output] : outputs_)
            copy_between(data, output.place, output.copy.get(), {}, output.bytes);
    }

  private:
    struct Output {
        Memory copy;
        Place place;
        std::size_t bytes;
    };

    const mdist_buffer_t *staged(std::size_t local, const mdist_buffer_t *buffers, std::size_t count, bool are_inputs) {
        Buffers &here = buffers_.emplace_back(buffers, buffers + count);
        for (mdist_buffer_t &buffer : here) {
            const Place place = place_of_buffer(job_, local, buffer);
            if (place.on_host()) continue;
            const std::size_t bytes = buffer.elements * dtype_size(buffer.dtype);
            buffer.data = are_inputs ? copy_of(buffer.data, place, bytes) : room_for(buffer.data, place, bytes);
        }
        return here.data();
    }

    void *copy_of(const void *data, const Place &place, std::size_t bytes) {
        const Memory &copy = inputs_.emplace_back(host()->allocate(bytes));
        copy_between(copy.get(), {}, data, place, bytes);
        return copy.get();
    }

    /// Returns one copy for all calls that name the same memory.
    void *room_for(void *data, const Place &place, std::size_t bytes) {
        const auto [at, is_new] = outputs_.try_emplace(data);
        if (is_new) at->second = {host()->allocate(bytes), place, bytes};
        return at->second.copy.get();
    }

    const Job &job_;
    std::vector<Call> calls_;
    std::deque<Buffers> buffers_;
    std::vector<Memory> inputs_;
    std::map<void *, Output> outputs_;
};

} // namespace

Device *gpu_that_reaches(const Job &job, const Buffers &buffers) {
    if (job.replicas.device(0).gpu() == nullptr) return nullptr;
    std::vector<Place> places;
    for (const mdist_buffer_t &buffer : buffers) {
        if (buffer.elements == 0) continue;
        const Place place = place_of(buffer.data, job.reach.place(0).place().index);
        if (place.on_host()) return nullptr;
        if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
    }
    for (uint32_t local = 0; !places.empty() && local < job.replicas.local_count(); ++local) {
        const Gpu *const gpu = job.replicas.device(local).gpu();
        if (gpu != nullptr &&
            std::all_of(places.begin(), places.end(), [&](const Place &p) { return reaches(*gpu, p); }))
            return &job.replicas.device(local);
    }
    return nullptr;
}

Device *gpu_for(Job &job, const std::vector<Call> &calls, std::size_t outputs) {
    if (job.workers() != nullptr || job.replicas.device(0).gpu() == nullptr) return nullptr;
    if (calls[0].by != nullptr) return nullptr; // an operator runs on the host
    Buffers all;
    for (std::size_t local = 0; local < calls.size(); ++local) {
        const Call &call = calls[local];
        all.insert(all.end(), call.inputs, call.inputs + call.buffer_count);
        if (local < outputs) all.insert(all.end(), call.outputs, call.outputs + call.buffer_count);
    }
    return gpu_that_reaches(job, all);
}

void among_hosts(const Job &job, std::vector<Call> &calls, FunctionRef<void(std::vector<Call> &)> run) {
    bool all_here = true;
    for (std::size_t local = 0; local < calls.size(); ++local)
        for (std::size_t b = 0; b < calls[local].buffer_count; ++b)
            all_here = all_here && place_of_buffer(job, local, calls[local].inputs[b]).on_host() &&
                       place_of_buffer(job, local, calls[local].outputs[b]).on_host();
    if (all_here) return run(calls);
    Staged staged(job, calls);
    run(staged.calls());
    staged.copy_back();
}

} // namespace mdist

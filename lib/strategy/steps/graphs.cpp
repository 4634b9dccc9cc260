// SPDX-License-Identifier: Apache-2.0
#include "strategy/steps/graphs.h"

#include "comm/collectives.h"
#include "comm/device/gpu_group.h"
#include "device/gpu/graph.h"
#include "strategy/job/call_functions.h"
#include "strategy/job/party.h"
#include "util/text.h"

namespace mdist {
namespace {

constexpr const char *kFunction = "mdist_replica_graph";

bool records(Job &job) {
    GpuGroup *const gpus = job.gpus();
    if (gpus == nullptr || gpus->parties() != 1 || gpus->gpu(0).blocking()) return false;
    return job.executors().workers() == nullptr || gpus->uses_nccl();
}

/// Records the lane together with the stream.
class LaneRecording {
  public:
    explicit LaneRecording(GpuGroup &gpus) : gpus_(gpus) { gpus_.begin_recording(); }
    ~LaneRecording() { gpus_.end_recording(); }
    LaneRecording(const LaneRecording &) = delete;
    LaneRecording &operator=(const LaneRecording &) = delete;

  private:
    GpuGroup &gpus_;
};

std::unique_ptr<GpuGraph> record(Party &party, GpuGroup &gpus, Graphs::Body body) {
    gpus.join(party.local_index()); // if the body fails, the step's end no longer knows of earlier work
    GpuRecording recording(gpus.gpu(party.local_index()));
    const LaneRecording lanes(gpus);
    body();
    party.await_turn(kFunction);
    gpus.join(party.local_index());
    return recording.end();
}

void launch(Party &party, uint64_t key, const GpuGraph &graph) {
    const std::string name = text("key ", key);
    Call call;
    call.kind = &calls::kGraph;
    call.subject = key;
    call.subject_text = name.c_str();
    call.extra = &graph;
    perform_on_gpus(party.job().executors(), party.local_index(), call, 0);
}

} // namespace

Graphs::Graphs() = default;
Graphs::~Graphs() = default;

void Graphs::run(Party &party, uint64_t key, Body body) {
    Job &job = party.job();
    if (!records(job)) return body();
    GpuGroup &gpus = *job.gpus();
    gpus.gpu(0).replica_stream().require_running("another graph");
    party.await_turn(kFunction);
    auto at = graphs_.find(key);
    if (at == graphs_.end()) at = graphs_.emplace(key, record(party, gpus, body)).first;
    launch(party, key, *at->second);
}

void Graphs::forget(uint64_t key) {
    graphs_.erase(key);
}

} // namespace mdist

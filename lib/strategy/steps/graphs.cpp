// SPDX-License-Identifier: Apache-2.0
#include "strategy/steps/graphs.h"

#include "comm/device/gpu_group.h"
#include "device/gpu/graph.h"
#include "strategy/replica.h"
#include "strategy/strategy.h"
#include "util/text.h"

namespace mdist {
namespace {

constexpr const char *kFunction = "mdist_replica_graph";

bool records(Strategy &strategy) {
    GpuGroup *const gpus = strategy.gpus();
    if (gpus == nullptr || gpus->parties() != 1 || gpus->gpu(0).blocking()) return false;
    return strategy.group().workers() == nullptr || gpus->uses_nccl();
}

/// The lane is recorded with the stream.
class LaneRecording {
  public:
    explicit LaneRecording(GpuGroup &gpus) : gpus_(gpus) { gpus_.begin_recording(); }
    ~LaneRecording() { gpus_.end_recording(); }
    LaneRecording(const LaneRecording &) = delete;
    LaneRecording &operator=(const LaneRecording &) = delete;

  private:
    GpuGroup &gpus_;
};

std::unique_ptr<GpuGraph> record(Replica &replica, GpuGroup &gpus, Graphs::Body body) {
    gpus.join(replica.local_index()); // should the body fail, the end of the step knows of nothing before it
    GpuRecording recording(gpus.gpu(replica.local_index()));
    const LaneRecording lanes(gpus);
    body();
    replica.await_turn(kFunction);
    gpus.join(replica.local_index());
    return recording.end();
}

void launch(Replica &replica, uint64_t key, const GpuGraph &graph) {
    const std::string name = text("key ", key);
    Call call;
    call.kind = CallKind::kGraph;
    call.subject = key;
    call.subject_text = name.c_str();
    call.extra = &graph;
    perform_on_gpus(replica.strategy().group(), replica.local_index(), call, 0);
}

} // namespace

Graphs::Graphs() = default;
Graphs::~Graphs() = default;

void Graphs::run(Replica &replica, uint64_t key, Body body) {
    Strategy &strategy = replica.strategy();
    if (!records(strategy)) return body();
    GpuGroup &gpus = *strategy.gpus();
    gpus.gpu(0).replica_stream().require_running("another graph");
    replica.await_turn(kFunction);
    auto at = graphs_.find(key);
    if (at == graphs_.end()) at = graphs_.emplace(key, record(replica, gpus, body)).first;
    launch(replica, key, *at->second);
}

void Graphs::forget(uint64_t key) {
    graphs_.erase(key);
}

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
#include "strategy/steps/graphs.h"

#include "comm/collectives.h"
#include "comm/device/gpu_group.h"
#include "device/gpu/graph.h"
#include "strategy/job/call_functions.h"
#include "strategy/job/party.h"
#include "util/text.h"

#include <algorithm>
#include <optional>
#include <string>

namespace mdist {
namespace {

constexpr const char *kFunction = "mdist_replica_graph";

bool records(Job &job) {
    GpuGroup *const gpus = job.gpus();
    if (gpus == nullptr || gpus->parties() != 1 || gpus->gpu(0).blocking()) return false;
    return job.executors().workers() == nullptr || gpus->uses_nccl();
}

/// Records the replica's stream, and the lane with it, from here until end().
class Recording {
  public:
    Recording(Party &party, GpuGroup &gpus)
        : party_(party), gpus_(joined(party, gpus)), stream_(gpus.gpu(party.local_index())), lane_(gpus) {}

    std::unique_ptr<GpuGraph> end() {
        party_.await_turn(kFunction);
        gpus_.join(party_.local_index());
        return stream_.end();
    }

  private:
    struct Lane {
        explicit Lane(GpuGroup &gpus) : gpus_(gpus) { gpus_.begin_recording(); }
        ~Lane() { gpus_.end_recording(); }
        Lane(const Lane &) = delete;
        Lane &operator=(const Lane &) = delete;
        GpuGroup &gpus_;
    };

    /// Puts the stream behind earlier collectives: if the part fails, the step's end no longer knows of them.
    static GpuGroup &joined(Party &party, GpuGroup &gpus) {
        gpus.join(party.local_index());
        return gpus;
    }

    Party &party_;
    GpuGroup &gpus_;
    GpuRecording stream_;
    Lane lane_; // ends before the stream's recording is dropped
};

/// A part of a step between mdist_replica_graph_begin and mdist_replica_graph_end.
class OpenGraph final : public Unfinished {
  public:
    explicit OpenGraph(uint64_t graph_key) : key(graph_key) {}

    std::string leave(const Party &party) override {
        recording.reset();
        return text("the step of replica ", party.id(), " ended between mdist_replica_graph_begin (key ", key,
                    ") and mdist_replica_graph_end; call both in one step");
    }

    const uint64_t key;
    std::optional<Recording> recording; // empty if the part is not recorded now
};

/// Returns the place of the party's open graph in its unfinished work; end() if there is none.
auto find_open(Party &party) {
    const auto is_graph = [](const auto &each) { return dynamic_cast<OpenGraph *>(each.get()) != nullptr; };
    return std::find_if(party.unfinished.begin(), party.unfinished.end(), is_graph);
}

/// Throws if the party is between begin() and end().
void require_closed(Party &party) {
    const auto open = find_open(party);
    if (open == party.unfinished.end()) return;
    throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                  text("replica ", party.id(), " has begun graph ", static_cast<OpenGraph &>(**open).key,
                       "; call mdist_replica_graph_end first"))
        .reason("work_under_way");
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
    if (at == graphs_.end()) {
        Recording recording(party, gpus);
        body();
        at = graphs_.emplace(key, recording.end()).first;
    }
    launch(party, key, *at->second);
}

bool Graphs::begin(Party &party, uint64_t key) {
    Job &job = party.job();
    if (job.gpus() != nullptr) job.gpus()->gpu(party.local_index()).replica_stream().require_running("another graph");
    require_closed(party);
    const auto open = std::make_shared<OpenGraph>(key);
    const bool recorded = records(job) && graphs_.contains(key);
    party.unfinished.push_back(open);
    if (!records(job) || recorded) return !recorded;
    try {
        party.await_turn(kFunction);
        open->recording.emplace(party, *job.gpus());
    } catch (...) {
        party.unfinished.pop_back();
        throw;
    }
    return true;
}

void Graphs::end(Party &party) {
    const auto at = find_open(party);
    if (at == party.unfinished.end())
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      text("replica ", party.id(), " has begun no graph; call mdist_replica_graph_begin first"));
    const std::shared_ptr<Unfinished> held = *at;
    party.unfinished.erase(at);
    auto &open = static_cast<OpenGraph &>(*held);
    if (!records(party.job())) return;
    if (open.recording) {
        graphs_.insert_or_assign(open.key, open.recording->end());
        open.recording.reset();
    }
    const auto graph = graphs_.find(open.key);
    if (graph == graphs_.end())
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      text("graph ", open.key, " was forgotten after replica ", party.id(), " had begun it"));
    party.await_turn(kFunction);
    launch(party, open.key, *graph->second);
}

void Graphs::forget(uint64_t key) {
    graphs_.erase(key);
}

} // namespace mdist

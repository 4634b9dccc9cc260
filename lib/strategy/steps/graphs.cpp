// SPDX-License-Identifier: Apache-2.0
#include "strategy/steps/graphs.h"

#include "comm/collectives.h"
#include "comm/device/gpu_group.h"
#include "device/gpu/graph.h"
#include "strategy/job/call_functions.h"
#include "strategy/job/party.h"
#include "util/text.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace mdist {
namespace {

constexpr const char *kFunction = "mdist_replica_graph";

bool records(Job &job) {
    GpuGroup *const gpus = job.comm.gpus();
    return gpus != nullptr && !gpus->gpu(0).blocking() && gpus->records(job.comm.executors().workers());
}

/// Records the replica's stream, and the lane with it, from here until end().
class Recording {
  public:
    Recording(Party &party, GpuGroup &gpus)
        : party_(party), gpus_(joined(party, gpus)), stream_(gpus.gpu(party.local_index())) {}
    ~Recording() {
        if (stream_) end_by([this] { stream_.reset(); });
    }
    Recording(const Recording &) = delete;
    Recording &operator=(const Recording &) = delete;

    /// Throws what spoilt the recording, or failed the job meanwhile.
    std::unique_ptr<GpuGraph> end() {
        party_.await_turn(kFunction);
        gpus_.join(party_.local_index());
        std::unique_ptr<GpuGraph> graph;
        std::exception_ptr wrong;
        end_by([&] {
            try {
                graph = stream_->end();
            } catch (...) {
                wrong = std::current_exception();
            }
            stream_.reset();
        });
        if (wrong) std::rethrow_exception(wrong);
        party_.job().comm.group().require_ready(); // the body need not have told of a collective that failed
        return graph;
    }

  private:
    void end_by(FunctionRef<void()> end) { gpus_.end_recording(party_.local_index(), end); }

    /// Puts the stream behind earlier collectives: if the part fails, the step's end no longer knows of them.
    static GpuGroup &joined(Party &party, GpuGroup &gpus) {
        gpus.join(party.local_index());
        return gpus;
    }

    Party &party_;
    GpuGroup &gpus_;
    std::optional<GpuRecording> stream_; // and the lane with it, from its first collective on
};

/// A part of a step between mdist_replica_graph_begin and mdist_replica_graph_end.
class OpenGraph final : public Unfinished {
  public:
    explicit OpenGraph(uint64_t graph_key) : key(graph_key) {}

    void free_device() noexcept override { recording.reset(); }
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
    Call call = call_about(&calls::kGraph, name, key);
    call.extra = &graph;
    perform_on_gpus(party.job().comm.executors(), party.local_index(), call, 0);
}

} // namespace

Graphs::Graphs(uint32_t replicas) : graphs_(replicas) {}
Graphs::~Graphs() = default;

Graphs::ByKey &Graphs::of(const Party &party) {
    return graphs_[party.local_index()];
}

void Graphs::run(Party &party, uint64_t key, Body body) {
    Job &job = party.job();
    if (!records(job)) return body();
    GpuGroup &gpus = *job.comm.gpus();
    ByKey &graphs = of(party);
    gpus.gpu(party.local_index()).replica_stream().require_running("another graph");
    party.await_turn(kFunction);
    const auto at = graphs.find(key);
    if (at != graphs.end()) return launch(party, key, *at->second);
    Recording recording(party, gpus);
    body();
    launch_first(party, key, recording.end());
}

/// Keeps the graph only if its launch does not fail: all replicas have recorded theirs, or none keeps one.
void Graphs::launch_first(Party &party, uint64_t key, std::unique_ptr<GpuGraph> graph) {
    launch(party, key, *graph);
    of(party).insert_or_assign(key, std::move(graph));
}

bool Graphs::begin(Party &party, uint64_t key) {
    Job &job = party.job();
    if (job.comm.gpus() != nullptr)
        job.comm.gpus()->gpu(party.local_index()).replica_stream().require_running("another graph");
    require_closed(party);
    const auto open = std::make_shared<OpenGraph>(key);
    const bool recorded = records(job) && of(party).contains(key);
    party.unfinished.push_back(open);
    if (!records(job) || recorded) return !recorded;
    try {
        party.await_turn(kFunction);
        open->recording.emplace(party, *job.comm.gpus());
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
    ByKey &graphs = of(party);
    if (open.recording) return launch_first(party, open.key, open.recording->end());
    const auto graph = graphs.find(open.key);
    if (graph == graphs.end())
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      text("graph ", open.key, " was forgotten after replica ", party.id(), " had begun it"));
    party.await_turn(kFunction);
    launch(party, open.key, *graph->second);
}

void Graphs::forget(const Party &party, uint64_t key) {
    if (records(party.job())) of(party).erase(key);
}

void Graphs::span_changed(uint32_t replicas) {
    graphs_.clear();
    graphs_.resize(replicas);
}

} // namespace mdist

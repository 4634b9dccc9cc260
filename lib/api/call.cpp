// SPDX-License-Identifier: Apache-2.0
#include "api/collective_call.h"
#include "api/replica_guard.h"
#include "comm/call/arrays.h"
#include "comm/packs.h"
#include "util/text.h"

#include <mdist/call.h>

#include <optional>
#include <utility>
#include <vector>

namespace mdist {
namespace {

/// By mdist_call_kind_t.
constexpr CallKind kForms[] = {
    nullptr,           &calls::kAllReduce,     &calls::kBroadcast,    &calls::kAllGather,    &calls::kReduceScatter,
    &calls::kAllToAll, &calls::kAllToAllParts, &calls::kReduceToRoot, &calls::kGatherToRoot, &calls::kScatter,
    &calls::kBarrier};
constexpr int32_t kLastForm = static_cast<int32_t>(std::size(kForms)) - 1;

constexpr ArrayNames kNames = {"description.inputs", "description.outputs", "description.input_parts",
                               "description.output_parts"};

} // namespace

/// The object behind a call handle: a checked Call, the arrays that it points to, and its place. Immutable.
class PreparedCall {
  public:
    PreparedCall(std::shared_ptr<Strategy> strategy, uint32_t local, const mdist_call_description_t &description,
                 const mdist_call_options_t *options)
        : strategy_(std::move(strategy)),
          local_(local),
          generation_(strategy_->elastic.generation()),
          timeout_ns_(timeout_of(*strategy_, options)),
          packing_(packing_of(*strategy_, options)),
          packs_asked_(options != nullptr && options->bytes_per_pack != 0),
          place_(seat_of(*strategy_, local, options)) {
        read(description);
        if (call_.kind == &calls::kBarrier) call_.inputs = call_.outputs = nullptr;
        std::vector<mdist_buffer_t> absent;
        need_arrays(call_, id(), place_.seat.replicas, kNames, absent);
        arrays_.emplace(call_);
        place_.place(call_);
        if (is_operator(call_.op)) call_ = operator_.emplace(call_).call();
        check_placed(*strategy_, id(), call_, place_.seat.replicas);
    }

    const char *name() const { return call_.kind->name(); }
    const Call &call() const { return call_; }
    const GroupSeat &place() const { return place_; }
    uint64_t timeout() const { return timeout_ns_; }
    bool asks_for_packs() const { return packs_asked_; }

    void require(const Replica &replica) const {
        if (&replica.job() != strategy_.get()) throw invalid("the call belongs to another strategy than this replica");
        strategy_->elastic.require_generation(generation_, "the call");
        if (replica.local_index() != local_)
            throw invalid(text("the call was created for local replica ", local_, "; this is local replica ",
                               replica.local_index(), ". Create a call for each local replica"));
        replica.require_concurrent(name());
        place_.require_running(replica);
    }

    void run(Replica &replica) const {
        place_.await_turn(replica, name());
        const Seat &seat = place_.seat;
        perform_packs(seat.executors, seat.party, call_, packing_, timeout_ns_);
        seat.operations.notice();
    }

  private:
    uint32_t id() const { return strategy_->replicas.first_id() + local_; }

    void read(const mdist_call_description_t &from) {
        if (from.kind < MDIST_CALL_ALL_REDUCE || from.kind > kLastForm)
            throw invalid(text("description.kind is ", from.kind,
                               "; use MDIST_CALL_ALL_REDUCE (1) to MDIST_CALL_BARRIER (10)"));
        call_.kind = kForms[from.kind];
        call_.op = from.op;
        call_.root = from.root;
        call_.inputs = from.inputs;
        call_.outputs = call_.kind == &calls::kBroadcast ? from.inputs : from.outputs;
        call_.buffer_count = from.buffer_count;
        call_.input_parts = from.input_parts;
        call_.output_parts = from.output_parts;
        need_nothing_more(from);
    }

    /// Refuses what this collective has no use for, rather than ignore it.
    void need_nothing_more(const mdist_call_description_t &from) const {
        const PatternTraits &traits = call_.kind->traits();
        if (!traits.sums) need_zero(static_cast<uint32_t>(from.op), "description.op of a call that does not reduce");
        if (!traits.has_root) need_zero(from.root, "description.root of a call without root");
        if (call_.kind == &calls::kBarrier) need_zero(from.buffer_count, "description.buffer_count of a barrier");
        if (call_.kind != &calls::kAllToAllParts && (from.input_parts != nullptr || from.output_parts != nullptr))
            throw invalid(text("description has parts, which ", call_.kind->name(), " does not take"));
    }

    const std::shared_ptr<Strategy> strategy_;
    const uint32_t local_;
    const uint32_t generation_;
    const uint64_t timeout_ns_;
    const Packing packing_;
    const bool packs_asked_;
    const GroupSeat place_;
    Call call_;
    std::optional<OperatorCall> operator_; // if it reduces with one of the program
    std::optional<CallArrays> arrays_;
};

} // namespace mdist

using namespace mdist;

mdist_status_t mdist_call_create(mdist_strategy_t *strategy, uint32_t local_replica,
                                 const mdist_call_description_t *description, mdist_call_t **out,
                                 const mdist_call_options_t *options, mdist_error_t **error) {
    return guard("mdist_call_create", error, [&] {
        const auto pinned = pin(strategy);
        need(description, "description");
        need(out, "out");
        const mdist_call_description_t known = read_options(description, "description");
        const uint32_t replicas = pinned->replicas.local_count();
        if (local_replica >= replicas)
            throw invalid(text("local_replica is ", local_replica, "; this strategy has ", replicas));
        *out = publish<mdist_call_t>(std::make_shared<PreparedCall>(pinned.shared(), local_replica, known, options));
    });
}

mdist_status_t mdist_call_run(mdist_replica_t *replica, mdist_call_t *call, mdist_error_t **error) {
    const auto known = try_pin(call);
    const Others others = known && known->place().group ? Others::kWait : Others::kMeet;
    return replica_guard("mdist_call_run", replica, others, error, [&](Replica &self) {
        if (!known) pin(call); // throws why
        known->require(self);
        known->run(self);
    });
}

mdist_status_t mdist_call_start(mdist_replica_t *replica, mdist_call_t *call, mdist_work_t **out,
                                mdist_error_t **error) {
    return replica_guard("mdist_call_start", replica, Others::kWait, error, [&](Replica &self) {
        const auto pinned = pin(call);
        pinned->require(self);
        if (pinned->asks_for_packs())
            throw Failure(MDIST_ERR_UNSUPPORTED,
                          "the call was created with options.bytes_per_pack, but a started operation is never split "
                          "into packs. Create another call for this, without it");
        start_work(self, pinned->place(), pinned->call(), pinned->timeout(), out);
    });
}

void mdist_call_destroy(mdist_call_t *call) {
    give_up(call);
}

// SPDX-License-Identifier: Apache-2.0
#include "api/description.h"
#include "api/replica_guard.h"
#include "comm/call/arrays.h"
#include "comm/packs.h"
#include "util/text.h"

#include <mdist/prepared.h>

#include <optional>
#include <utility>
#include <vector>

namespace mdist {
/// The object behind a call handle: a checked Call, the arrays that it points to, and its place. Immutable.
class PreparedCall {
  public:
    PreparedCall(std::shared_ptr<Strategy> strategy, uint32_t local, const Call &described,
                 const mdist_call_options_t *options)
        : strategy_(std::move(strategy)),
          local_(local),
          generation_(strategy_->elastic.generation()),
          timeout_ns_(timeout_of(*strategy_, options)),
          packing_(packing_of(*strategy_, options)),
          packs_asked_(options != nullptr && options->bytes_per_pack != 0),
          place_(seat_of(*strategy_, local, options)),
          call_(described) {
        std::vector<mdist_buffer_t> absent;
        need_arrays(call_, id(), place_.seat.replicas, kDescriptionNames, absent);
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

mdist_status_t mdist_prepared_create(mdist_strategy_t *strategy, uint32_t local_replica,
                                     const mdist_collective_description_t *description, mdist_prepared_t **out,
                                     const mdist_call_options_t *options, mdist_error_t **error) {
    return guard("mdist_prepared_create", error, [&] {
        const auto pinned = pin(strategy);
        need(out, "out");
        const Call described = described_call(description);
        const uint32_t replicas = pinned->replicas.local_count();
        if (local_replica >= replicas)
            throw invalid(text("local_replica is ", local_replica, "; this strategy has ", replicas));
        *out = publish<mdist_prepared_t>(
            std::make_shared<PreparedCall>(pinned.shared(), local_replica, described, options));
    });
}

mdist_status_t mdist_prepared_run(mdist_replica_t *replica, mdist_prepared_t *call, mdist_error_t **error) {
    const auto known = try_pin(call);
    const Others others = known && known->place().group ? Others::kWait : Others::kMeet;
    return replica_guard("mdist_prepared_run", replica, others, error, [&](Replica &self) {
        if (!known) pin(call); // throws why
        known->require(self);
        known->run(self);
    });
}

mdist_status_t mdist_prepared_start(mdist_replica_t *replica, mdist_prepared_t *call, mdist_work_t **out,
                                    mdist_error_t **error) {
    return replica_guard("mdist_prepared_start", replica, Others::kWait, error, [&](Replica &self) {
        const auto pinned = pin(call);
        pinned->require(self);
        if (pinned->asks_for_packs())
            throw Failure(MDIST_ERR_UNSUPPORTED,
                          "the call was created with options.bytes_per_pack, but a started operation is never split "
                          "into packs. Create another call for this, without it");
        start_work(self, pinned->place(), pinned->call(), pinned->timeout(), out);
    });
}

void mdist_prepared_destroy(mdist_prepared_t *call) {
    give_up(call);
}

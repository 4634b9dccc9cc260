// SPDX-License-Identifier: Apache-2.0
// ElasticStore: the store of an elastic job. It alone decides which generation comes next.
//
//   OPEN ----the round closes: a generation is written, and sent to its members----> MESHING
//     ^                                                                                 |
//     |---- a member is lost, or members cannot reach each other -----------------------|
//     |                                                  all are connected: GO to all   v
//     '---- a member asks for a regroup --------------------------------------------- READY
//
// Members are the workers of the newest generation. Other workers wait, as newcomers, and enter when a round closes.
// Without a secret, there are no newcomers once the first generation is written, unless the options say so: anybody who
// can connect would be given all state.
// A round closes when each member
//   - has asked for a regroup, and its connection with the store lives, or
//   - has ended: its launcher has reaped it, or it said goodbye, or
//   - has been silent to the store for the heartbeat timeout, or
//   - has not asked in time, though it lives: it hangs in code of the program. A member that another one missed has
//     the heartbeat timeout for that. The others have half of the time that those who ask will wait, if that is longer.
//     Then it is dropped, unless it may have state that nobody else has.
// At least one member must have asked. Whoever asks has stopped working in its generation. So no two generations can
// make progress at a time, whatever members believe that the store cannot hear. The round stays open for `wait` if
// there are too few members, or if a silent member may have state that nobody else has. Then the job fails for good.
//
// Members send heartbeats to the store for as long as they live. A member whose connection breaks connects again.
//
// A store that is killed can come back, if somebody keeps its state (elastic_state.cpp). A generation is kept before
// anybody hears of it. One that comes back does not know whether its members were told GO. It takes them to be at work:
// those that were not told ask again, and the others lose the connections with them, and ask, too. One thread at a
// time.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "membership/store/decide.h"
#include "membership/store/store.h"

#include <mdist/store.h>

namespace mdist {

struct ElasticStoreOptions {
    uint32_t replicas = 1; // of the job, for its whole life
    uint32_t min_workers = 1;
    uint32_t max_workers = 1; // at most `replicas`
    uint64_t wait_ns = 0;     // for more workers, or for state that only a silent worker may have
    uint64_t heartbeat_timeout_ns = 0;
    std::string job;
    std::string secret;
    bool open = false; // whether newcomers may come without a secret
    /// Keeps the state, so that it is there after a crash; "": the job is over. Throws IO; then the store tries again
    /// later. Empty: nobody keeps it.
    std::function<void(const std::string &state)> keep = {};
    std::string kept = {}; // what keep() was given last, by the store of this job that came before; empty: none
};

class ElasticStore final : public Store {
  public:
    /// Throws DATA_LOSS or CONFIG (`different_job`) if it cannot go on from what was kept.
    ElasticStore(World &world, ElasticStoreOptions options);

    void received(ConnectionId connection, std::string_view bytes) override;
    void closed(ConnectionId connection, int error) override;
    void tick() override;
    uint64_t next_tick_ns() const override;

    /// The process of that worker has ended, says the launcher that reaped it.
    void reaped(WorkerId id);
    /// A worker that is out of the job, though nobody has said that its process has ended.
    struct LeftBehind {
        WorkerId id;
        int32_t how; // mdist_departure_t
    };
    /// Returns each of them once.
    std::optional<LeftBehind> take_left_behind();
    /// Asks that worker to leave. Its job goes on without it from the next generation on, in which all that it had is
    /// with others. All members then hear that they should regroup. One worker leaves at a time.
    void dismiss(WorkerId id);
    /// Why the job has failed for good.
    const std::optional<Failure> &failure() const { return failure_; }
    /// Whether a worker has told that it has marked a commit.
    bool knows_of_commit() const { return knows_of_commit_ || has_commit_; }
    uint32_t joined() const override;
    /// "generation 3: 4 of 5 workers are connected with the store; 1 wait to enter", or why the job has ended.
    std::string progress() const override;

  private:
    /// What a round that is open amounts to.
    struct Tally {
        std::vector<ConnectionId> survivors; // members that have asked, by rank
        std::vector<ConnectionId> newcomers; // in the order they came
        bool all_settled = true;             // each member has asked, ended, or been silent for too long
        bool all_ended = true;               // each member has ended
        std::size_t silent = 0;              // members that may come back, but that nobody waits for
        std::vector<WorkerId> overdue;       // of these, those that live and have not asked in time
    };

    void join(Guest guest, Joining joining) override;
    void heard(ConnectionId connection, Worker &worker, const ControlFrame &frame) override;
    void lost(const Worker &worker) override;
    void look() override;
    std::optional<Failure> objection(const Guest &guest, const Joining &joining) const;
    void asked(Worker &worker, const std::string &payload);
    void ended(ConnectionId connection);
    void look_at_mesh();
    Tally tally() const;
    Tally without_leaver(Tally all) const;
    bool any_leaves() const;
    bool is_silent(WorkerId id) const;
    bool is_overdue(WorkerId id) const;
    bool takes_newcomers() const { return generation_.number == 0 || options_.open || !options_.secret.empty(); }
    void limit_others(const Ask &ask);
    void give_up_on(WorkerId id);
    void note_sign_of_life(WorkerId id);
    Recovery recovery_among(const Tally &tally) const;
    Recovery recovery_of(const Tally &tally);
    void close_round(const Tally &tally, const Recovery &recovery);
    void send_away_former_members(const Generation &former);
    void send_away_newcomers();
    bool drop_unreachable();
    void fail(const Failure &failure);
    void note_end_of(WorkerId member);
    void come_back();
    bool is_forsaken() const;
    bool keep(const Generation &generation);
    void forget();
    void add_time_slept();
    std::string news_for(WorkerId id) const;
    void tell_members();

    ElasticStoreOptions options_;
    uint64_t interval_ns_;
    std::map<WorkerId, uint64_t> heard_ns_; // of the members, and of all that are connected
    std::set<WorkerId> ended_;              // members that are proven to have ended
    std::set<WorkerId> leaving_;            // workers that were asked to leave, or have said that they do
    std::map<WorkerId, uint64_t> due_ns_;   // when a member that has not asked in this round is overdue
    std::set<WorkerId> willing_;            // of leaving_: those that have said so
    std::set<WorkerId> dropped_;            // because they were overdue
    std::deque<LeftBehind> left_behind_;
    bool knows_of_commit_ = false;           // a worker has told it in passing; decides nothing here
    bool has_commit_ = false;                // some worker has marked a commit
    std::optional<uint64_t> waits_since_ns_; // for enough workers, or for those that have the rest of the state
    std::optional<Failure> failure_;
    std::optional<uint64_t> awaits_return_ns_; // since when a store that has come back has heard of no member
    bool unkept_ = false;   // something is not kept yet; a store that comes back without it waits longer
    std::string complaint_; // why the state could not be kept last time
    uint64_t next_ns_;
};

} // namespace mdist

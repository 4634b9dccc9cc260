// SPDX-License-Identifier: Apache-2.0
// Runs schedules over a network that delays and reorders messages, and loses or stops parties. A party that completes
// has the right result. Every other party fails, or waits for one that has stopped.
#include "comm/schedules/broadcast.h"
#include "comm/schedules/relayed_agreement.h"
#include "comm/schedules/tree_sum.h"
#include "strategy/job/call_functions.h"
#include "subject.h"

#include <optional>

#include "network.h"

#include "schedule_support.h"

namespace {

using namespace mdist;

enum class Fault : uint32_t { kNone, kKill, kStop, kOtherCall };

/// How an operation begins: its workers agree directly or by relays, and then sum; or they sum right behind the
/// headers, to all or to the peers in their plan; or they do both along the tree.
enum class Begin : uint32_t { kDirectly, kByRelays, kBehindHeaders, kBehindPeersHeaders, kTree };

/// How workers perform the operation.
struct Way {
    uint32_t per_host;
    Begin begin;
    bool ends_by_relays;
    uint32_t root;
    uint64_t chunk_elements;
    std::vector<uint32_t> groups; // of hosts, when they split a sum
};

/// One party's part in an operation, as workers perform it. It agrees and all-reduces each type, broadcasts the outputs
/// of one worker (which changes nothing), and agrees again.
class Part final : public Schedule {
  public:
    Part(Link &link, const ReduceJob &job, const Way &way, const Call &call)
        : link_(link),
          job_(job),
          way_(way),
          call_(call),
          plan_(job.spans(), way.per_host),
          split_(job.spans(), way.per_host, way.groups) {
        for (const int32_t dtype : dtypes_of(job.call(0))) {
            rows_.emplace_back(job.calls(link.self()), dtype, job.cut(), link.self());
            if (rows_.back().elements() == 0) rows_.pop_back();
        }
        begin_next();
    }

    bool advance() override {
        while (current_->advance())
            if (!begin_next()) return true;
        return false;
    }

  private:
    bool begin_next() {
        current_.reset();
        const OperationHeader header = OperationHeader::of(call_, ++step_, 0);
        if (step_ == 1)
            begin(header);
        else if (row_ < rows_.size())
            current_ = sum(header, rows_[row_++], Headers::kNone);
        else if (!broadcast_)
            broadcast(header);
        else if (!ended_)
            agree(header, way_.ends_by_relays), ended_ = true;
        return current_ != nullptr;
    }

    void begin(const OperationHeader &header) {
        const bool behind = way_.begin == Begin::kBehindHeaders || way_.begin == Begin::kBehindPeersHeaders;
        if (way_.begin == Begin::kTree) {
            current_ = std::make_unique<TreeSum>(link_, header, plan_, rows_, scratch_);
            row_ = rows_.size();
        } else if (behind && !rows_.empty()) { // without a sum, peers would not speak for all
            current_ =
                sum(header, rows_[row_++], way_.begin == Begin::kBehindHeaders ? Headers::kToAll : Headers::kToPeers);
        } else {
            agree(header, way_.begin == Begin::kByRelays);
        }
    }

    void agree(const OperationHeader &header, bool by_relays) {
        const Link::Message payload = {&payload_, sizeof payload_};
        if (by_relays)
            current_ = std::make_unique<RelayedAgreement>(link_, header, plan_, payload, RelayedAgreement::kEveryone,
                                                          scratch_);
        else
            current_ = std::make_unique<DirectAgreement>(link_, header, payload);
    }

    std::unique_ptr<Schedule> sum(const OperationHeader &header, const ReduceRow &row, Headers headers) {
        return make_split_sum(link_, header, row, split_, plan_, scratch_, way_.chunk_elements, headers);
    }

    void broadcast(const OperationHeader &header) {
        std::vector<Broadcast::Range> ranges;
        const Call &call = **job_.calls(link_.self());
        for (std::size_t b = 0; b < call.buffer_count; ++b)
            ranges.push_back({call.outputs[b].data, call.outputs[b].elements * dtype_size(call.outputs[b].dtype)});
        current_ = std::make_unique<Broadcast>(link_, header.sequence << 32, way_.root, way_.per_host, ranges,
                                               way_.chunk_elements);
        broadcast_ = true;
    }

    Link &link_;
    const ReduceJob &job_;
    const Way way_;
    const Call &call_;
    const JoinPlan plan_;
    const SplitPlan split_;
    const uint64_t payload_ = 17;
    std::vector<ReduceRow> rows_; // by dtype; only those with elements
    uint64_t step_ = 0;
    std::size_t row_ = 0; // the next one to sum
    bool broadcast_ = false, ended_ = false;
    Scratch scratch_;
    std::unique_ptr<Schedule> current_;
};

/// One run. The seed decides everything.
class Run {
  public:
    explicit Run(uint32_t seed)
        : random_(seed),
          fault_(static_cast<Fault>(random_() % 4)),
          way_(random_way()),
          others_way_(random_way()),
          parties_(way_.per_host * static_cast<uint32_t>(way_.per_host > 1 ? 2 + random_() % 2 : 1 + random_() % 9)),
          op_(random_op(random_)),
          job_(random_, random_spans(random_, parties_, 3), op_,
               random_shapes(random_, op_, random_() % 8 == 0 ? 2000 : 100), random_() % 2 == 0),
          longest_delay_(1 + random_() % 1000),
          network_(random_, parties_, longest_delay_),
          culprit_(static_cast<uint32_t>(random_() % parties_)),
          parts_(parties_),
          outcomes_(parties_) {
        way_.root = static_cast<uint32_t>(random_() % parties_);
        others_way_.per_host = way_.per_host;
        for (Way *const way : {&way_, &others_way_}) way->groups = random_groups(random_, parties_ / way_.per_host);
        if (random_() % 2 == 0) { // otherwise a barrier
            other_ = job_.call(0);
            other_.op = op_ == reduce::Op::kSum ? MDIST_MAX : MDIST_SUM;
        }
        for (uint32_t party = 0; party < parties_; ++party) {
            const bool joins_it = party != (culprit_ + 1) % parties_ && random_() % 4 == 0; // in the other call
            const bool differs = fault_ == Fault::kOtherCall && parties_ > 1 && (party == culprit_ || joins_it);
            network_.at(random_() % 500, [this, party, differs] {
                if (struck_ && party == culprit_) return;
                parts_[party] = std::make_unique<Part>(network_.link(party), job_, differs ? others_way_ : way_,
                                                       differs ? other_ : job_.call(0));
                advance(party);
            });
        }
        // Most operations end before this time.
        const uint64_t when = random_() % (500 + 10 * longest_delay_);
        if (fault_ == Fault::kKill || fault_ == Fault::kStop) network_.at(when, [this] { strike(); });
    }

    /// Runs to the end. Returns what went wrong; "" if nothing did.
    std::string problem() {
        // Parties do other things in between, so news accumulates.
        for (bool more = true, any = true; more || any;) {
            more = network_.go_on();
            if (!more || random_() % 4 == 0) any = advance_those_with_news();
        }
        for (uint32_t party = 0; party < parties_; ++party) {
            const std::string found = problem_of(party);
            if (!found.empty())
                return text("party ", party, " of ", parties_, ", fault ", static_cast<uint32_t>(fault_), " of party ",
                            culprit_, ": ", found);
        }
        return problem_of_first_failure();
    }

  private:
    struct Outcome {
        bool done = false;
        std::optional<Failure> failure;
    };

    Way random_way() {
        const auto per_host = static_cast<uint32_t>(1 + random_() % 3);
        const auto begin = static_cast<Begin>(random_() % 5);
        return {per_host, begin, random_() % 2 == 0, 0, 1 + random_() % 60, {}};
    }

    void strike() {
        struck_ = true;
        if (fault_ == Fault::kKill) network_.kill(culprit_);
    }

    bool runs(uint32_t party) const {
        return parts_[party] && !outcomes_[party].done && !outcomes_[party].failure && !(struck_ && party == culprit_);
    }

    bool advance_those_with_news() {
        const auto first = static_cast<uint32_t>(random_() % parties_);
        bool any = false;
        for (uint32_t i = 0; i < parties_; ++i) {
            const uint32_t party = (first + i) % parties_;
            if (!runs(party) || !network_.has_news(party)) continue;
            advance(party);
            any = true;
        }
        return any;
    }

    void advance(uint32_t party) {
        try {
            outcomes_[party].done = parts_[party]->advance();
        } catch (const Failure &failure) {
            if (!first_failure_) first_failure_ = failure;
            outcomes_[party].failure = failure;
            network_.link(party).close();
        }
    }

    std::string problem_of(uint32_t party) const {
        const Outcome &outcome = outcomes_[party];
        if (outcome.done && fault_ == Fault::kOtherCall && parties_ > 1) return "it is done with another operation";
        if (outcome.done && !job_.right(party)) return "its results are wrong";
        const bool may_fail = struck_ || fault_ == Fault::kOtherCall;
        if (outcome.failure && (!may_fail || fault_ == Fault::kStop)) return outcome.failure->message();
        if (struck_ && party == culprit_) return "";
        const bool may_wait = struck_ && fault_ == Fault::kStop;
        return !outcome.done && !outcome.failure && !may_wait ? "it waits forever" : "";
    }

    std::string problem_of_first_failure() const {
        if (!first_failure_) return "";
        const bool mismatch = fault_ == Fault::kOtherCall;
        if (first_failure_->status() != (mismatch ? MDIST_ERR_MISMATCH : MDIST_ERR_PEER_LOST) ||
            (!mismatch && first_failure_->worker() != culprit_))
            return text("the first failure is ", first_failure_->message());
        return "";
    }

    Random random_;
    const Fault fault_;
    Way way_, others_way_; // another call is performed in another way
    const uint32_t parties_;
    const reduce::Op op_;
    const ReduceJob job_;
    const uint64_t longest_delay_;
    sim::Network network_;
    const uint32_t culprit_;
    Call other_;
    bool struck_ = false;
    std::vector<std::unique_ptr<Part>> parts_;
    std::vector<Outcome> outcomes_;
    std::optional<Failure> first_failure_;
};

void whatever_happens_nobody_gets_a_wrong_result_or_waits_for_one_that_is_gone(void **) {
    for (const uint32_t seed : seeds(500, 20'000)) {
        const std::string problem = Run(seed).problem();
        if (!problem.empty()) fail_msg("seed %u: %s", seed, problem.c_str());
    }
}

} // namespace

SUBJECT(schedules) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(whatever_happens_nobody_gets_a_wrong_result_or_waits_for_one_that_is_gone),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

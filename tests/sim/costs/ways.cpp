// SPDX-License-Identifier: Apache-2.0
#include "ways.h"

#include "comm/schedules/broadcast.h"
#include "comm/schedules/direct_agreement.h"
#include "comm/schedules/host_gather.h"
#include "comm/schedules/relayed_agreement.h"
#include "comm/schedules/split_sum.h"
#include "comm/schedules/transfer.h"
#include "comm/schedules/tree_sum.h"
#include "comm/workers/sizes.h"
#include "reduce/float_environment.h"
#include "reduce/operator.h"
#include "strategy/job/call_functions.h"
#include "util/dtype.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace mdist::costs {
namespace {

/// The most workers for ways whose messages grow with their square.
constexpr uint32_t kMostDirect = 64;
/// What schedules take beside a few times the data.
constexpr std::size_t kMostShared = 256 << 20;
/// Workers tell each other so many bytes about lengths.
constexpr std::size_t kTable = 16;

/// Memory that is there once, however long it looks: a file of kReal bytes, mapped again and again.
class Memory {
  public:
    explicit Memory(std::size_t bytes) : bytes_((bytes / kReal + 2) * kReal) {
        const int file = memfd_create("costs", 0);
        if (file < 0 || ftruncate(file, kReal) != 0) throw std::bad_alloc();
        void *const begin = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (std::size_t at = 0; begin != MAP_FAILED && at < bytes_; at += kReal)
            mmap(static_cast<char *>(begin) + at, kReal, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
        close(file);
        if (begin == MAP_FAILED) throw std::bad_alloc();
        begin_ = static_cast<char *>(begin);
    }
    ~Memory() { munmap(begin_, bytes_); }
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;
    char *begin() const { return begin_; }

  private:
    static constexpr std::size_t kReal = 1 << 20;
    const std::size_t bytes_;
    char *begin_;
};

int32_t count_sum(const void *, const void *, void *, uint64_t count, void *user_data) {
    const auto &op = *static_cast<const std::pair<std::size_t, std::function<void(double)>> *>(user_data);
    op.second(2 * static_cast<double>(count * op.first));
    return 0;
}

/// One schedule after another.
class Sequence final : public Schedule {
  public:
    using Begin = std::function<std::unique_ptr<Schedule>()>;
    explicit Sequence(std::vector<Begin> steps) : steps_(std::move(steps)), current_(steps_[0]()) {}
    bool advance() override {
        while (current_->advance()) {
            if (++at_ == steps_.size()) return true;
            current_.reset();
            current_ = steps_[at_]();
        }
        return false;
    }

  private:
    const std::vector<Begin> steps_;
    std::size_t at_ = 0;
    std::unique_ptr<Schedule> current_;
};

class JobOfWorkers : public Job {
  public:
    JobOfWorkers(const Task &task, const std::function<void(double)> &summed)
        : workers_(task.layout.workers()),
          per_host_(task.layout.per_host),
          bytes_(task.bytes),
          spans_(Spans::even(workers_, 1)),
          cut_(spans_),
          memory_(std::max(bytes_, element_bytes())),
          summed_(element_bytes(), summed),
          plan_(spans_, per_host_),
          scratches_(workers_) {
        shared_.take(4 * bytes_ + kMostShared); // from here on it stays where it is
        operator_.element_bytes = element_bytes();
        operator_.combine = count_sum;
        operator_.user_data = &summed_;
        buffer_ = {memory_.begin(), std::max<uint64_t>(bytes_ / element_bytes(), 1), operator_dtype(element_bytes()),
                   0};
        call_.kind = &calls::kAllReduce;
        call_.op = kOperator;
        call_.by = &operator_;
        call_.inputs = call_.outputs = &buffer_;
        call_.buffer_count = 1;
        calls_.assign(workers_, &call_);
    }

    std::unique_ptr<Schedule> part(Network &network, uint32_t worker) override {
        return std::make_unique<Sequence>(steps(network.link(worker), worker));
    }

  protected:
    virtual std::vector<Sequence::Begin> steps(Link &link, uint32_t worker) = 0;

    /// Elements are long where there are many, to save the simulator's time.
    std::size_t element_bytes() const { return std::max<std::size_t>(4, std::bit_ceil(bytes_ / 16384)); }
    uint64_t elements() const { return buffer_.elements; }
    OperationHeader header() const { return OperationHeader::of(call_, 1, 0); }
    Scratch &scratch(uint32_t worker) { return scratches_[worker]; }
    /// For schedules that read nothing there but what they sum. It holds zeros, since sums write nothing.
    Scratch &shared() { return shared_; }
    const JoinPlan &plan() const { return plan_; }
    const std::vector<ReduceRow> &rows(uint32_t worker) {
        if (rows_.empty()) rows_.resize(workers_);
        if (rows_[worker].empty()) rows_[worker].emplace_back(&calls_[worker], buffer_.dtype, cut_, worker);
        return rows_[worker];
    }
    /// Of a reduce-scatter.
    const std::vector<ReduceRow> &scattered_rows(uint32_t worker) {
        if (parts_.empty())
            for (uint64_t i = 0; i <= workers_; ++i) parts_.push_back(elements() * i / workers_);
        if (rows_.empty()) rows_.resize(workers_);
        if (rows_[worker].empty()) rows_[worker].emplace_back(&calls_[worker], 0, parts_, cut_, worker);
        return rows_[worker];
    }
    /// What a worker gives to all others in a gather.
    std::size_t own_bytes() const { return std::max<std::size_t>(bytes_ / workers_, 1); }

    /// All workers tell that they call the same, and some bytes of a table or payload: those of `giver`, or of all.
    Sequence::Begin tell(Link &link, uint32_t worker, std::size_t bytes, uint32_t giver = RelayedAgreement::kEveryone) {
        return workers_ <= sizes::kMostDirect && per_host_ == 1 ? tell_directly(link, worker, bytes, giver)
                                                                : tell_by_relays(link, worker, bytes, giver);
    }
    Sequence::Begin tell_directly(Link &link, uint32_t worker, std::size_t bytes,
                                  uint32_t giver = RelayedAgreement::kEveryone) {
        return [this, &link, own = own_payload(worker, bytes, giver)]() -> std::unique_ptr<Schedule> {
            return std::make_unique<DirectAgreement>(link, header(), own);
        };
    }
    Sequence::Begin tell_by_relays(Link &link, uint32_t worker, std::size_t bytes,
                                   uint32_t giver = RelayedAgreement::kEveryone) {
        return [this, &link, worker, giver, own = own_payload(worker, bytes, giver)]() -> std::unique_ptr<Schedule> {
            return std::make_unique<RelayedAgreement>(link, header(), plan(), own, giver, scratch(worker));
        };
    }
    Link::Message own_payload(uint32_t worker, std::size_t bytes, uint32_t giver) const {
        return {memory_.begin(), giver == RelayedAgreement::kEveryone || giver == worker ? bytes : 0};
    }

    const uint32_t workers_, per_host_;
    const std::size_t bytes_;
    const Spans spans_;
    const reduce::Cut cut_;
    const Memory memory_;

  private:
    std::pair<std::size_t, std::function<void(double)>> summed_;
    const JoinPlan plan_;
    std::vector<Scratch> scratches_;
    Scratch shared_;
    reduce::Operator operator_;
    mdist_buffer_t buffer_;
    Call call_;
    std::vector<const Call *> calls_;
    std::vector<std::vector<ReduceRow>> rows_;
    std::vector<uint64_t> parts_;
};

class RelayedJob : public JobOfWorkers {
  public:
    using JobOfWorkers::JobOfWorkers;
    std::size_t read() const override { return RelayedAgreement::kMessageLimit; }
};

constexpr uint64_t kTag = uint64_t{1} << 32;
constexpr uint32_t kNobody = RelayedAgreement::kNobody;

/// A sum whose first messages follow the headers.
class BehindHeaders final : public Schedule {
  public:
    BehindHeaders(Link &link, const OperationHeader &mine, const std::vector<uint32_t> &peers, const ReduceRow &row,
                  const SplitPlan &plan, Scratch &scratch)
        : agreement_(link, mine, {}, peers), sum_(link, kTag, row, plan, scratch, Start::kBehindHeaders) {}
    bool advance() override {
        if (agreed_) return sum_.advance();
        if (!agreement_.advance()) return false;
        agreed_ = true;
        sum_.begin();
        return sum_.advance();
    }

  private:
    DirectAgreement agreement_;
    SplitSum sum_;
    bool agreed_ = false;
};

/// Defines a way by the steps of one worker.
#define MDIST_WAY(Name, Base, ...)                                                                            \
    class Name final : public Base {                                                                          \
        using Base::Base;                                                                                     \
        std::vector<Sequence::Begin> steps(Link &link, [[maybe_unused]] uint32_t worker) override __VA_ARGS__ \
    }

// --- all-reduce

MDIST_WAY(SumAlongTree, JobOfWorkers, {
    return {
        [&link, worker, this] { return std::make_unique<TreeSum>(link, header(), plan(), rows(worker), shared()); }};
});

constexpr uint32_t kAll = UINT32_MAX;

/// In groups of hosts with at most so many members.
template <uint32_t kMost>
class Splitting : public JobOfWorkers {
  public:
    Splitting(const Task &task, const std::function<void(double)> &summed)
        : JobOfWorkers(task, summed),
          split_(spans_, per_host_, SplitPlan::groups_of(task.layout.hosts, std::min(kMost, task.layout.hosts))) {}

  protected:
    const SplitPlan split_;
};

/// Its first messages follow the headers.
template <uint32_t kMost>
class SumBySplitting final : public Splitting<kMost> {
    using Splitting<kMost>::Splitting;
    std::vector<Sequence::Begin> steps(Link &link, uint32_t worker) override {
        return {[&link, worker, this] {
            return std::make_unique<BehindHeaders>(link, this->header(), this->split_.peers(worker, this->plan()),
                                                   this->rows(worker)[0], this->split_, this->shared());
        }};
    }
};

// --- reduce-scatter

template <uint32_t kMost>
class ScatterBySplitting final : public Splitting<kMost> {
    using Splitting<kMost>::Splitting;
    std::vector<Sequence::Begin> steps(Link &link, uint32_t worker) override {
        return {this->tell(link, worker, kTable), [&link, worker, this] {
                    return std::make_unique<SplitSum>(link, kTag, this->scattered_rows(worker)[0], this->split_,
                                                      this->shared());
                }};
    }
};

MDIST_WAY(ScatterWithHeaders, RelayedJob, { return {tell(link, worker, kTable + bytes_)}; });

// --- barrier

MDIST_WAY(MeetDirectly, JobOfWorkers, { return {tell_directly(link, worker, 0)}; });
MDIST_WAY(MeetByRelays, JobOfWorkers, { return {tell_by_relays(link, worker, 0, kNobody)}; });

// --- broadcast by worker 0

MDIST_WAY(GiveDirectly, JobOfWorkers, { return {tell_directly(link, worker, bytes_, 0)}; });
MDIST_WAY(GiveByRelays, RelayedJob, { return {tell_by_relays(link, worker, bytes_, 0)}; });

MDIST_WAY(GiveInChunks, JobOfWorkers, {
    return {tell(link, worker, 0, kNobody), [&link, this] {
                return std::make_unique<Broadcast>(link, kTag, 0, per_host_,
                                                   std::vector<Broadcast::Range>{{memory_.begin(), bytes_}});
            }};
});

// --- all-gather

MDIST_WAY(GatherByRelays, RelayedJob, { return {tell_by_relays(link, worker, own_bytes())}; });

MDIST_WAY(GatherAfterTables, JobOfWorkers, {
    return {tell_by_relays(link, worker, kTable), [&link, worker, this] {
                std::vector<Transfer::Outgoing> sends;
                std::vector<Transfer::Incoming> receives;
                HostGather gather(worker, workers_, per_host_);
                gather.give(memory_.begin(), own_bytes());
                for (uint32_t other = 0; other < workers_; ++other)
                    if (other != worker) gather.receive(other, memory_.begin(), own_bytes());
                Transfer::Passed passed = gather.finish(sends, receives);
                return std::make_unique<Transfer>(link, kTag, sends, receives, nullptr, std::move(passed));
            }};
});

/// The receives wait for the tables, the sends do not.
class GatherAtOnce final : public Schedule {
  public:
    GatherAtOnce(Link &link, const OperationHeader &mine, const Link::Message &table, char *memory, std::size_t bytes)
        : link_(link), memory_(memory), bytes_(bytes), agreement_(link, mine, table) {
        each_peer([&](uint32_t peer) { link_.send(peer, kTag, memory_, bytes_, sent_); });
    }
    bool advance() override {
        if (!transfer_ && !agreement_.advance()) return false;
        if (!transfer_) {
            std::vector<Transfer::Incoming> receives;
            each_peer([&](uint32_t peer) { receives.push_back({peer, memory_, bytes_}); });
            transfer_.emplace(link_, kTag, std::vector<Transfer::Outgoing>(), receives, &sent_);
        }
        return transfer_->advance();
    }

  private:
    template <class Use>
    void each_peer(Use use) {
        for (uint32_t i = 1; i < link_.parties(); ++i) use((link_.self() + i) % link_.parties());
    }
    Link &link_;
    char *const memory_;
    const std::size_t bytes_;
    DirectAgreement agreement_;
    Pending sent_;
    std::optional<Transfer> transfer_;
};

MDIST_WAY(GatherDirectly, JobOfWorkers, {
    return {[&link, this] {
        return std::make_unique<GatherAtOnce>(link, header(), Link::Message{memory_.begin(), kTable}, memory_.begin(),
                                              own_bytes());
    }};
});

#undef MDIST_WAY

// --- where they fit

template <class Kind>
std::unique_ptr<Job> make(const Task &task, const std::function<void(double)> &summed) {
    return std::make_unique<Kind>(task, summed);
}

bool always(const Task &) {
    return true;
}
bool direct(const Task &task) {
    return task.layout.workers() <= kMostDirect;
}
bool direct_hosts(const Task &task) {
    return task.layout.hosts <= kMostDirect;
}
template <uint32_t kHosts>
bool above(const Task &task) {
    return task.layout.hosts > kHosts;
}
bool in_one_message(const Task &task) {
    return task.bytes <= RelayedAgreement::most_of_one(task.layout.workers());
}
bool in_one_message_each(const Task &task) {
    return task.bytes / task.layout.workers() <= RelayedAgreement::most(task.layout.workers());
}
bool in_one_payload(const Task &task) {
    return direct(task) && task.bytes <= CallAgreement::kPayloadLimit;
}
/// A worker gives all that it has in each round.
bool few(const Task &task) {
    return task.bytes <= 1 << 20;
}
/// All workers give all that they have to all.
bool few_each(const Task &task) {
    return task.bytes + kTable <= (task.layout.workers() <= sizes::kMostDirect && task.layout.per_host == 1
                                       ? CallAgreement::kPayloadLimit
                                       : RelayedAgreement::most(task.layout.workers()));
}

constexpr Way kWays[] = {
    {"all-reduce", "along the tree", few, make<SumAlongTree>},
    {"all-reduce", "split by all", direct_hosts, make<SumBySplitting<kAll>>},
    {"all-reduce", "split by eight", above<8>, make<SumBySplitting<8>>},
    {"all-reduce", "split by four", above<4>, make<SumBySplitting<4>>},
    {"all-reduce", "split by two", above<2>, make<SumBySplitting<2>>},
    {"reduce-scatter", "split by all", direct_hosts, make<ScatterBySplitting<kAll>>},
    {"reduce-scatter", "split by eight", above<8>, make<ScatterBySplitting<8>>},
    {"reduce-scatter", "split by four", above<4>, make<ScatterBySplitting<4>>},
    {"reduce-scatter", "split by two", above<2>, make<ScatterBySplitting<2>>},
    {"reduce-scatter", "with the headers", few_each, make<ScatterWithHeaders>},
    {"barrier", "directly", direct, make<MeetDirectly>},
    {"barrier", "by relays", always, make<MeetByRelays>},
    {"broadcast", "directly", in_one_payload, make<GiveDirectly>},
    {"broadcast", "by relays", in_one_message, make<GiveByRelays>},
    {"broadcast", "in chunks", direct, make<GiveInChunks>},
    {"all-gather", "by relays", in_one_message_each, make<GatherByRelays>},
    {"all-gather", "behind the headers", direct, make<GatherDirectly>},
    {"all-gather", "after the tables", direct, make<GatherAfterTables>},
};

} // namespace

std::span<const Way> ways() {
    return kWays;
}

} // namespace mdist::costs

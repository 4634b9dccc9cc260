// SPDX-License-Identifier: Apache-2.0
#include "ways.h"

#include "comm/schedules/all_reduce.h"
#include "comm/schedules/broadcast.h"
#include "comm/schedules/halving_sum.h"
#include "comm/schedules/rails.h"
#include "comm/schedules/relayed_exchange.h"
#include "comm/schedules/small_all_reduce.h"
#include "comm/schedules/small_exchange.h"
#include "comm/schedules/transfer.h"
#include "reduce/float_environment.h"
#include "reduce/operator.h"
#include "strategy/job/call_functions.h"
#include "util/dtype.h"

#include <algorithm>
#include <bit>
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
          two_by_two_(spans_, per_host_),
          at_once_(spans_, per_host_, true, JoinPlan::Way::kAllAtOnce),
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
    const JoinPlan &two_by_two() const { return two_by_two_; }
    const JoinPlan &at_once() const { return at_once_; }
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

    /// All workers tell that they call the same, and some bytes of a table.
    Sequence::Begin tell(Link &link, uint32_t worker, std::size_t table) {
        return [this, &link, worker, table]() -> std::unique_ptr<Schedule> {
            if (workers_ < 4) {
                OperationHeader mine = header();
                mine.payload_bytes = static_cast<uint32_t>(table);
                return std::make_unique<SmallExchange>(link, mine, memory_.begin());
            }
            return std::make_unique<RelayedExchange>(
                link, header(), two_by_two_, SmallExchange::Bytes{memory_.begin(), table},
                table != 0 ? RelayedExchange::kEveryone : RelayedExchange::kNobody, scratch(worker));
        };
    }

    const uint32_t workers_, per_host_;
    const std::size_t bytes_;
    const Spans spans_;
    const reduce::Cut cut_;
    const Memory memory_;

  private:
    std::pair<std::size_t, std::function<void(double)>> summed_;
    const JoinPlan two_by_two_, at_once_;
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
    std::size_t read() const override { return RelayedExchange::kMessageLimit; }
};

constexpr uint64_t kTag = uint64_t{1} << 32;

/// Defines a way by the steps of one worker.
#define MDIST_WAY(Name, Base, ...)                                                                            \
    class Name final : public Base {                                                                          \
        using Base::Base;                                                                                     \
        std::vector<Sequence::Begin> steps(Link &link, [[maybe_unused]] uint32_t worker) override __VA_ARGS__ \
    }

// --- all-reduce

MDIST_WAY(SumTwoByTwo, JobOfWorkers, {
    return {[&link, worker, this] {
        return std::make_unique<SmallAllReduce>(link, header(), two_by_two(), rows(worker), shared());
    }};
});

MDIST_WAY(SumAtOnce, JobOfWorkers, {
    return {[&link, worker, this] {
        return std::make_unique<SmallAllReduce>(link, header(), at_once(), rows(worker), shared());
    }};
});

MDIST_WAY(SumBySegments, JobOfWorkers, {
    return {tell(link, worker, 0),
            [&link, worker, this] { return std::make_unique<AllReduce>(link, kTag, rows(worker)[0], shared()); }};
});

MDIST_WAY(SumAlongRails, JobOfWorkers, {
    return {tell(link, worker, 0), [&link, worker, this] {
                return std::make_unique<Rails>(link, kTag, rows(worker)[0], per_host_, shared());
            }};
});

// --- reduce-scatter

MDIST_WAY(ScatterBySegments, JobOfWorkers, {
    return {tell(link, worker, kTable), [&link, worker, this] {
                return std::make_unique<AllReduce>(link, kTag, scattered_rows(worker)[0], shared());
            }};
});

/// What begins by halving. The tables are those of an earlier call.
class HalvingJob : public JobOfWorkers {
  public:
    HalvingJob(const Task &task, const std::function<void(double)> &summed)
        : JobOfWorkers(task, summed), tables_(workers_, std::vector<char>(kTable)) {}

  protected:
    Sequence::Begin halve(Link &link, uint32_t worker) {
        return [&link, worker, this] {
            return std::make_unique<HalvingSum>(link, header(), two_by_two(), scattered_rows(worker), tables_,
                                                tables_[worker], shared());
        };
    }

  private:
    const HalvingSum::Tables tables_;
};

MDIST_WAY(ScatterByHalving, HalvingJob, { return {halve(link, worker)}; });

// --- not in the library yet

/// The second half of an all-reduce by halving: each worker has one part of the result, and in the end all have all. In
/// each round a worker and the one that differs from it in one bit give each other what they have.
class Doubling final : public Schedule {
  public:
    /// For a power of two of workers, each of which has `bytes`.
    Doubling(Link &link, uint64_t tag, void *memory, std::size_t bytes)
        : link_(link), tag_(tag), memory_(memory), bytes_(bytes), bit_(link.parties() / 2) {
        exchange();
    }
    bool advance() override {
        for (link_.progress(); pending_.done(); link_.progress()) {
            bytes_ *= 2;
            bit_ /= 2;
            if (bit_ == 0) return true;
            exchange();
        }
        return false;
    }

  private:
    void exchange() {
        link_.receive(link_.self() ^ bit_, tag_ + bit_, memory_, bytes_, pending_);
        link_.send(link_.self() ^ bit_, tag_ + bit_, memory_, bytes_, pending_);
    }

    Link &link_;
    const uint64_t tag_;
    void *const memory_;
    std::size_t bytes_;
    uint32_t bit_;
    Pending pending_;
};

MDIST_WAY(SumByHalving, HalvingJob, {
    return {halve(link, worker),
            [&link, this] { return std::make_unique<Doubling>(link, kTag, memory_.begin(), own_bytes()); }};
});

// --- barrier

MDIST_WAY(MeetDirectly, JobOfWorkers,
          { return {[&link, this] { return std::make_unique<SmallExchange>(link, header(), nullptr); }}; });

MDIST_WAY(MeetByRelays, JobOfWorkers, {
    return {[&link, worker, this] {
        return std::make_unique<RelayedExchange>(link, header(), two_by_two(), SmallExchange::Bytes(),
                                                 RelayedExchange::kNobody, scratch(worker));
    }};
});

// --- broadcast by worker 0

MDIST_WAY(GiveDirectly, JobOfWorkers, {
    return {[&link, worker, this] {
        OperationHeader mine = header();
        mine.payload_bytes = worker == 0 ? static_cast<uint32_t>(bytes_) : 0;
        return std::make_unique<SmallExchange>(link, mine, memory_.begin());
    }};
});

MDIST_WAY(GiveWithHeaders, RelayedJob, {
    return {[&link, worker, this] {
        const SmallExchange::Bytes own = {memory_.begin(), worker == 0 ? bytes_ : 0};
        return std::make_unique<RelayedExchange>(link, header(), two_by_two(), own, 0, scratch(worker));
    }};
});

MDIST_WAY(GiveInChunks, JobOfWorkers, {
    return {
        tell(link, worker, 0), [&link, this] {
            return std::make_unique<Broadcast>(link, kTag, 0, std::vector<Broadcast::Range>{{memory_.begin(), bytes_}});
        }};
});

// --- all-gather

MDIST_WAY(GatherByRelays, RelayedJob, {
    return {[&link, worker, this] {
        return std::make_unique<RelayedExchange>(link, header(), two_by_two(),
                                                 SmallExchange::Bytes{memory_.begin(), own_bytes()},
                                                 RelayedExchange::kEveryone, scratch(worker));
    }};
});

MDIST_WAY(GatherDirectly, JobOfWorkers, {
    return {tell(link, worker, kTable), [&link, worker, this] {
                std::vector<Transfer::Outgoing> sends;
                std::vector<Transfer::Incoming> receives;
                for (uint32_t i = 1; i < workers_; ++i) {
                    sends.push_back({(worker + i) % workers_, memory_.begin(), own_bytes()});
                    receives.push_back({(worker + workers_ - i) % workers_, memory_.begin(), own_bytes()});
                }
                return std::make_unique<Transfer>(link, kTag, sends, receives);
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
bool by_hosts(const Task &task) {
    return task.layout.per_host > 1 && task.layout.hosts <= kMostDirect;
}
bool halves(const Task &task) {
    return std::has_single_bit(task.layout.workers()) && task.layout.per_host == 1;
}
bool in_one_message(const Task &task) {
    return task.bytes <= RelayedExchange::most_of_one(task.layout.workers());
}
bool in_one_message_each(const Task &task) {
    return task.bytes / task.layout.workers() <= RelayedExchange::most(task.layout.workers());
}
bool in_one_payload(const Task &task) {
    return direct(task) && task.bytes <= SmallExchange::kPayloadLimit;
}
/// A worker gives all that it has in each round.
bool few(const Task &task) {
    return task.bytes <= 1 << 20;
}
bool few_directly(const Task &task) {
    return few(task) && task.layout.hosts <= kMostDirect;
}

constexpr Way kWays[] = {
    {"all-reduce", "two by two", few, make<SumTwoByTwo>},
    {"all-reduce", "all at once", few_directly, make<SumAtOnce>},
    {"all-reduce", "by segments", direct, make<SumBySegments>},
    {"all-reduce", "along rails", by_hosts, make<SumAlongRails>},
    {"all-reduce", "by halving (new)", halves, make<SumByHalving>},
    {"reduce-scatter", "by segments", direct, make<ScatterBySegments>},
    {"reduce-scatter", "by halving", halves, make<ScatterByHalving>},
    {"barrier", "directly", direct, make<MeetDirectly>},
    {"barrier", "by relays", always, make<MeetByRelays>},
    {"broadcast", "directly", in_one_payload, make<GiveDirectly>},
    {"broadcast", "with the headers", in_one_message, make<GiveWithHeaders>},
    {"broadcast", "in chunks", direct, make<GiveInChunks>},
    {"all-gather", "by relays", in_one_message_each, make<GatherByRelays>},
    {"all-gather", "directly", direct, make<GatherDirectly>},
};

} // namespace

std::span<const Way> ways() {
    return kWays;
}

} // namespace mdist::costs

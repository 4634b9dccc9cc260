// SPDX-License-Identifier: Apache-2.0
// All-reduce through shared memory against the reference, whose inputs every worker can work out for all replicas.
#include "shm_support.h"

#include "comm/call/reduce_row.h"
#include "comm/links/shm.h"
#include "comm/schedules/split_sum.h"
#include "comm/shm/arena.h"
#include "comm/shm/group.h"
#include "reduce_reference.h"
#include "strategy/job/call_functions.h"
#include "subject.h"
#include "util/clock.h"
#include "util/dtype.h"
#include "util/text.h"

#include <mdist/collective.h>

#include <csignal>
#include <random>

namespace {

using namespace mdist;
using namespace mdist::test;

constexpr uint64_t kPatienceNs = 100'000'000'000;
constexpr std::size_t kGuard = 64;

/// Where buffers of the workers lie.
enum class Place { kOrdinary, kArena, kMixed };

struct Member {
    std::shared_ptr<ShmMates> mates;
    std::shared_ptr<ShmBell> bell;
    std::shared_ptr<ShmArena> arena;
    ShmGroup group;
    uint64_t sequence = 0;
    uint64_t end = monotonic_clock().now_ns() + kPatienceNs;

    Member(Board &board, uint32_t rank, const Spans &spans)
        : mates(join(board, rank, test_sizes(board.workers()))),
          bell(std::make_shared<ShmBell>(mates)),
          arena(ShmArena::of(*mates)),
          group(mates, bell, spans, way_of(rank)) {}

    /// The workers write to their arenas in all ways, whatever caches this machine has.
    static DirectWay way_of(uint32_t rank) {
        return {.straight = rank % 2 == 0, .past_caches_from = rank % 3 == 0 ? 0 : UINT64_MAX};
    }

    void keep_going() const {
        if (monotonic_clock().now_ns() > end) throw Failure(MDIST_ERR_TIMEOUT, "took too long");
    }
};

/// Memory of one buffer between two guards.
class Guarded {
  public:
    Guarded(Memory memory, std::size_t bytes) : memory_(std::move(memory)), bytes_(bytes) {
        std::memset(memory_.get(), 0xa5, bytes_ + 2 * kGuard);
    }
    static std::size_t room(std::size_t bytes) { return bytes + 2 * kGuard; }
    char *data() const { return static_cast<char *>(memory_.get()) + kGuard; }
    std::size_t bytes() const { return bytes_; }
    bool sound() const {
        const char *const begin = static_cast<const char *>(memory_.get());
        for (std::size_t i = 0; i < kGuard; ++i)
            if (static_cast<unsigned char>(begin[i]) != 0xa5 ||
                static_cast<unsigned char>(begin[kGuard + bytes_ + i]) != 0xa5)
                return false;
        return true;
    }

  private:
    Memory memory_;
    std::size_t bytes_;
};

/// One operation, the same on all workers that make it from the same seed.
struct Plan {
    struct Part {
        int32_t dtype;
        uint64_t elements;
        bool in_place;
    };
    uint32_t seed;
    int32_t op;
    std::vector<Part> parts;

    Plan(uint32_t number, int32_t reduction, std::vector<Part> buffers)
        : seed(number), op(reduction), parts(std::move(buffers)) {}
    Plan(uint32_t number, std::size_t most_bytes) : seed(number) {
        std::mt19937 engine(number);
        op = static_cast<int32_t>(1 + engine() % 5);
        const uint32_t buffers = engine() % 3 == 0 ? 2 + engine() % 4 : 1;
        const std::size_t sizes[] = {0, 8, 40, 48, 1000, 5000, 40000, most_bytes};
        for (uint32_t b = 0; b < buffers; ++b) {
            int32_t dtype = 0;
            do {
                dtype = static_cast<int32_t>(1 + engine() % MDIST_BOOL); // the last type
            } while ((op == MDIST_MEAN && dtype >= MDIST_INT8) ||
                     (dtype == MDIST_BOOL && op != MDIST_MIN && op != MDIST_MAX));
            if (b > 0 && engine() % 2 == 0) dtype = parts[0].dtype;
            const std::size_t bytes = sizes[engine() % 8];
            const std::size_t more = bytes == 0 ? 0 : engine() % 7;
            parts.push_back({dtype, bytes / dtype_size(dtype) + more, engine() % 2 == 0});
        }
    }

    /// What a replica gives.
    void fill(uint32_t replica, std::size_t b, char *to) const {
        std::mt19937 engine(seed * 1000003 + replica * 101 + static_cast<uint32_t>(b));
        const std::size_t bytes = parts[b].elements * dtype_size(parts[b].dtype);
        for (std::size_t i = 0; i < bytes; i += 4) {
            const auto word = static_cast<uint32_t>(engine());
            std::memcpy(to + i, &word, std::min<std::size_t>(4, bytes - i));
        }
    }

    std::vector<char> expected(uint32_t replicas, std::size_t b) const {
        const std::size_t bytes = parts[b].elements * dtype_size(parts[b].dtype);
        std::vector<std::vector<char>> inputs(replicas, std::vector<char>(bytes));
        std::vector<const void *> sources;
        for (uint32_t replica = 0; replica < replicas; ++replica) {
            fill(replica, b, inputs[replica].data());
            sources.push_back(inputs[replica].data());
        }
        std::vector<char> result(bytes);
        void *destination = result.data();
        reduce::reduce_reference({parts[b].dtype, static_cast<reduce::Op>(op), replicas}, sources.data(), replicas,
                                 &destination, 1, parts[b].elements);
        return result;
    }
};

/// The buffers and calls of one worker in an operation.
struct Worker {
    const Plan &plan;
    uint32_t first_replica;
    std::vector<Guarded> inputs; // [replica][buffer]
    std::vector<Guarded> outputs;
    std::vector<mdist_buffer_t> in;
    std::vector<mdist_buffer_t> out;
    std::vector<Call> calls;
    std::vector<const Call *> pointers;

    Worker(const Member &member, const Plan &p, const Span &span, Place place)
        : plan(p), first_replica(span.first), calls(span.count()) {
        const uint32_t replicas = span.count();
        std::mt19937 engine(plan.seed + member.mates->rank()); // places may differ from worker to worker
        for (uint32_t replica = 0; replica < replicas; ++replica) {
            for (std::size_t b = 0; b < plan.parts.size(); ++b) {
                const bool in_arena = place == Place::kMixed ? engine() % 2 == 0 : place == Place::kArena;
                const Plan::Part &part = plan.parts[b];
                const std::size_t bytes = part.elements * dtype_size(part.dtype);
                const auto make = [&] {
                    const std::size_t room = Guarded::room(bytes);
                    return Guarded(in_arena ? member.arena->allocate(room) : host()->allocate(room), bytes);
                };
                inputs.push_back(make());
                plan.fill(first_replica + replica, b, inputs.back().data());
                outputs.push_back(part.in_place ? inputs.back() : make());
                in.push_back({inputs.back().data(), part.elements, part.dtype, 0});
                out.push_back({outputs.back().data(), part.elements, part.dtype, 0});
            }
        }
        for (uint32_t replica = 0; replica < replicas; ++replica) {
            calls[replica].kind = &calls::kAllReduce;
            calls[replica].op = plan.op;
            calls[replica].inputs = &in[replica * plan.parts.size()];
            calls[replica].outputs = &out[replica * plan.parts.size()];
            calls[replica].buffer_count = plan.parts.size();
            pointers.push_back(&calls[replica]);
        }
    }

    void run(Member &member) {
        const OperationHeader header = OperationHeader::of(calls[0], ++member.sequence, 0);
        member.group.all_reduce(header, pointers.data(), [&] { member.keep_going(); });
    }

    std::string wrong(uint32_t all_replicas) const {
        const std::size_t buffers = plan.parts.size();
        for (std::size_t b = 0; b < buffers; ++b) {
            const std::vector<char> expected = plan.expected(all_replicas, b);
            for (std::size_t i = b; i < inputs.size(); i += buffers) {
                const std::string where = text(" of operation ", plan.seed, ", buffer ", b);
                if (!inputs[i].sound() || !outputs[i].sound()) return "written outside" + where;
                if (!expected.empty() && std::memcmp(outputs[i].data(), expected.data(), expected.size()) != 0)
                    return "another result" + where;
                if (plan.parts[b].in_place) continue;
                std::vector<char> input(expected.size());
                plan.fill(first_replica + static_cast<uint32_t>(i / buffers), b, input.data());
                if (!input.empty() && std::memcmp(inputs[i].data(), input.data(), input.size()) != 0)
                    return "the input changed" + where;
            }
        }
        return "";
    }
};

/// Returns when all have come here: nobody leaves while others still need it.
void part(Board &board) {
    board.flag(0).fetch_add(1);
    while (board.flag(0).load() < board.workers()) sched_yield();
}

std::string reduce_at_random(Board &board, uint32_t rank, const Spans &spans, uint32_t count, std::size_t most_bytes) {
    Member member(board, rank, spans);
    std::string wrong;
    const auto first = static_cast<uint32_t>(test_seed(0));
    for (uint32_t i = 0; i < count; ++i) {
        const Plan plan(first + i * 31 + spans.replicas() * 7 + board.workers(), most_bytes);
        Worker worker(member, plan, spans[rank], static_cast<Place>(i % 3));
        worker.run(member);
        // Others may still be reading what this worker has published, not its buffers.
        if (wrong.empty()) wrong = worker.wrong(spans.replicas());
    }
    part(board);
    return wrong;
}

void reduce_between_processes(const Spans &spans) {
    assert_well(run_processes(spans.workers(), [&](Board &board, uint32_t rank) {
        return reduce_at_random(board, rank, spans, tiered(40, 400), 150'000);
    }));
}

void every_layout_gives_the_bits_of_the_reference_between_processes(void **) {
    for (uint32_t workers = 2; workers <= 5; ++workers)
        for (uint32_t each = 1; each <= 3; ++each) reduce_between_processes(Spans::even(workers, each));
}

void workers_with_different_numbers_of_replicas_get_the_bits_of_the_reference(void **) {
    for (const Spans &spans : {Spans({1, 2}), Spans({3, 3, 1}), Spans({1, 4, 2}), Spans({2, 1, 1, 1}),
                               Spans({1, 1, 1, 2}), Spans({1, 9, 5}), Spans({1, 1, 2, 1, 1})})
        reduce_between_processes(spans);
}

void every_layout_gives_the_bits_of_the_reference_between_threads(void **) {
    for (uint32_t workers = 1; workers <= 4; ++workers)
        assert_well(run_threads(workers, [&](Board &board, uint32_t rank) {
            return reduce_at_random(board, rank, Spans::even(workers, workers % 2 + 1), tiered(30, 200), 60'000);
        }));
}

void some_megabytes_give_the_bits_of_the_reference(void **) {
    for (const uint32_t workers : {2U, 3U})
        assert_well(run_processes(workers, [&](Board &board, uint32_t rank) {
            return reduce_at_random(board, rank, Spans::even(workers, 1), tiered(6, 60), 9'000'000);
        }));
}

/// Large enough that some workers run ahead of others as far as they may (direct.cpp), with chunks of several buffers.
std::string reduce_many_chunks(Board &board, uint32_t rank, const Spans &spans) {
    Member member(board, rank, spans);
    std::string wrong;
    for (uint32_t i = 0; i < tiered(1, 4); ++i) {
        const Plan plan(i, i % 2 == 0 ? MDIST_SUM : MDIST_MAX,
                        {{MDIST_INT8, 700'001, false}, {MDIST_FLOAT32, 900'003, true}, {MDIST_FLOAT16, 70'007, true}});
        Worker worker(member, plan, spans[rank], Place::kArena);
        worker.run(member);
        if (wrong.empty()) wrong = worker.wrong(spans.replicas());
    }
    part(board);
    return wrong;
}

void chunks_that_some_workers_reduce_before_others_give_the_bits_of_the_reference(void **) {
    for (const Spans &spans : {Spans({1, 1}), Spans({2, 1, 3}), Spans::even(5, 1)}) {
        const auto reduce = [&](Board &board, uint32_t rank) { return reduce_many_chunks(board, rank, spans); };
        assert_well(run_processes(spans.workers(), reduce));
        assert_well(run_threads(spans.workers(), reduce));
    }
}

/// The plain twin: over the link, one replica per worker.
void reduce_by_schedule(Link &link, uint64_t number, int32_t op, const mdist_buffer_t &input,
                        const mdist_buffer_t &output) {
    Call call;
    call.kind = &calls::kAllReduce;
    call.op = op;
    call.inputs = &input;
    call.outputs = &output;
    call.buffer_count = 1;
    const Call *const calls[] = {&call};
    const reduce::Cut cut(Spans::even(link.parties(), 1));
    const ReduceRow row(calls, input.dtype, cut, link.self());
    if (row.elements() == 0) return;
    Scratch scratch;
    const SplitPlan plan(cut.spans(), 1, {link.parties()});
    SplitSum schedule(link, number << 32, row, plan, scratch);
    while (!schedule.advance()) link.wait(1'000'000);
}

void the_plain_twin_over_the_link_gives_the_same_bits(void **) {
    assert_well(run_processes(3, [](Board &board, uint32_t rank) -> std::string {
        Member member(board, rank, Spans::even(board.workers(), 1));
        const auto link = make_shm_link(member.mates, member.bell);
        std::string wrong;
        for (uint32_t number = 0; number < tiered(60, 300) && wrong.empty(); ++number) {
            const Plan plan(number, 100'000);
            Worker worker(member, plan, {rank, rank + 1}, Place::kOrdinary);
            std::vector<std::vector<char>> twins;
            for (std::size_t b = 0; b < plan.parts.size(); ++b) {
                std::vector<char> input(worker.inputs[b].data(), worker.inputs[b].data() + worker.inputs[b].bytes());
                twins.emplace_back(input.size() + 1);
                reduce_by_schedule(*link, number, plan.op,
                                   {input.data(), plan.parts[b].elements, plan.parts[b].dtype, 0},
                                   {twins[b].data(), plan.parts[b].elements, plan.parts[b].dtype, 0});
            }
            worker.run(member);
            for (std::size_t b = 0; b < plan.parts.size(); ++b)
                if (std::memcmp(twins[b].data(), worker.outputs[b].data(), worker.outputs[b].bytes()) != 0)
                    wrong = text("another result of operation ", number);
        }
        part(board);
        return wrong;
    }));
}

void other_calls_are_a_mismatch_on_every_worker(void **) {
    for (uint32_t odd = 0; odd < 3; ++odd) {
        for (const std::size_t bytes : {8U, 40000U}) {
            const auto results = run_processes(3, [&](Board &board, uint32_t rank) -> std::string {
                Member member(board, rank, Spans::even(board.workers(), 1));
                Plan plan(1, bytes);
                plan.op = MDIST_SUM;
                plan.parts = {{MDIST_FLOAT32, bytes / 4 + (rank == odd ? 100'000 : 0), false}};
                Worker worker(member, plan, {rank, rank + 1}, Place::kArena);
                std::string outcome = "none";
                try {
                    worker.run(member);
                } catch (const Failure &failure) {
                    outcome = text(int{failure.status()}, worker.inputs[0].sound() && worker.outputs[0].sound());
                }
                part(board);
                return outcome;
            });
            for (const std::string &result : results)
                assert_string_equal(result.c_str(), text(int{MDIST_ERR_MISMATCH}, true).c_str());
        }
    }
}

/// Goes on until somebody is lost; worker 1 is killed by a thread of its own, anywhere in what it does.
std::string reduce_until_a_mate_is_killed(Board &board, uint32_t rank, uint32_t seed) {
    Member member(board, rank, Spans::even(board.workers(), 1));
    std::mt19937 engine(seed);
    std::atomic<uint32_t> operations{0};
    std::thread killer;
    if (rank == 1) {
        killer = std::thread([&operations, after = engine() % 20, more = engine() % 200'000] {
            while (operations.load() < after) sched_yield();
            for (std::atomic<uint32_t> i{0}; i < more;) ++i;
            raise(SIGKILL);
        });
    }
    const Plan plan(seed, seed % 5 == 0 ? 4'000'000 : 150'000);
    try {
        for (;;) {
            Worker worker(member, plan, {rank, rank + 1}, static_cast<Place>(operations.load() % 3));
            worker.run(member);
            ++operations;
            const std::string wrong = worker.wrong(board.workers());
            if (!wrong.empty()) return wrong;
        }
    } catch (const Failure &failure) {
        member.bell->close();
        return text(int{failure.status()});
    }
}

void a_killed_mate_is_a_lost_peer_for_all_others_and_harms_no_result(void **) {
    for (const uint32_t seed : seeds(15, 150)) {
        const auto results = run_processes(
            3, [&](Board &board, uint32_t rank) { return reduce_until_a_mate_is_killed(board, rank, seed); });
        assert_string_equal(results[0].c_str(), text(int{MDIST_ERR_PEER_LOST}).c_str());
        assert_string_equal(results[1].c_str(), "died");
        assert_string_equal(results[2].c_str(), text(int{MDIST_ERR_PEER_LOST}).c_str());
    }
}

void waiting_ends_when_the_caller_says_so(void **) {
    const auto results = run_threads(2, [](Board &board, uint32_t rank) -> std::string {
        Member member(board, rank, Spans::even(board.workers(), 1));
        std::string outcome;
        if (rank == 0) {
            try {
                const Call barrier; // of no buffers
                const Call *const calls[] = {&barrier};
                member.group.all_reduce(OperationHeader(), calls, [] { throw Failure(MDIST_ERR_ABORTED, "enough"); });
            } catch (const Failure &failure) {
                outcome = failure.message();
            }
        }
        part(board);
        return outcome;
    });
    assert_string_equal(results[0].c_str(), "enough");
}

} // namespace

SUBJECT(shm_all_reduce) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_gives_the_bits_of_the_reference_between_processes),
        cmocka_unit_test(workers_with_different_numbers_of_replicas_get_the_bits_of_the_reference),
        cmocka_unit_test(some_megabytes_give_the_bits_of_the_reference),
        cmocka_unit_test(chunks_that_some_workers_reduce_before_others_give_the_bits_of_the_reference),
        cmocka_unit_test(the_plain_twin_over_the_link_gives_the_same_bits),
        cmocka_unit_test(other_calls_are_a_mismatch_on_every_worker),
        cmocka_unit_test(a_killed_mate_is_a_lost_peer_for_all_others_and_harms_no_result),
        cmocka_unit_test(every_layout_gives_the_bits_of_the_reference_between_threads),
        cmocka_unit_test(waiting_ends_when_the_caller_says_so),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

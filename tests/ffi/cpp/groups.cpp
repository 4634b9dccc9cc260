// SPDX-License-Identifier: Apache-2.0
// Groups, operators, parts of any lengths, prepared calls, functions for the end of works, and tensors of other
// libraries.
#include <atomic>
#include <cstring>
#include <thread>

#include "check.hpp"

namespace {

// A function a * x + b. Their composition is associative, but not commutative.
struct Affine {
    int64_t a, b;
};

Affine composed(const Affine &left, const Affine &right) {
    return {left.a * right.a, left.b * right.a + right.b};
}

Affine of_replica(uint32_t id) {
    return {id + 2, 3 * int64_t{id} + 1};
}

Affine all_composed(uint32_t replicas) {
    Affine result = of_replica(0);
    for (uint32_t id = 1; id < replicas; ++id) result = composed(result, of_replica(id));
    return result;
}

mdist::Span<int64_t> numbers(Affine &affine) {
    return {&affine.a, 2};
}

// DLPack's struct, as <dlpack/dlpack.h> has it.
struct Managed {
    void *data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
    void *manager_ctx;
    void (*deleter)(Managed *);
};

void check_groups() {
    check("a group's members gather in the order of its list", [] {
        auto strategy = strategy_of(4);
        mdist::Group pairs[] = {{strategy, {2, 0}}, {strategy, {1, 3}}};
        require(pairs[0].size() == 2 && pairs[0].position(0) == 1 && pairs[0].position(1) == MDIST_NONE, "members");
        strategy.run([&](mdist::Replica &replica) {
            const mdist::Group &own = pairs[replica.id() % 2];
            uint32_t id = replica.id();
            std::vector<uint32_t> both(2);
            replica.all_gather(id, both, own);
            require(both == (id % 2 == 0 ? std::vector<uint32_t>{2, 0} : std::vector<uint32_t>{1, 3}), "the order");
            auto sum = replica.all_reduce_start(MDIST_SUM, both, own);
            require(sum.wait()[0] == 2 * both[0], "a started sum");
            replica.barrier(mdist::CallOptions().timeout(std::chrono::seconds(60)).group(own));
            replica.barrier();
        });
    });
    check("a replica outside of the group, and a wrong list, are refused in words", [] {
        auto strategy = strategy_of(3);
        const auto twice = thrown_by<mdist::Error>([&] { mdist::Group(strategy, {1, 1}); });
        require(twice.status() == MDIST_ERR_INVALID_ARGUMENT, twice.what());
        mdist::Group group(strategy, {0, 1});
        const auto outside =
            thrown_by<mdist::Error>([&] { strategy.run([&](mdist::Replica &replica) { replica.barrier(group); }); });
        require(std::strstr(outside.what(), "group {0, 1}") != nullptr, outside.what());
        require_usable(strategy);
    });
}

void check_operators() {
    check("an operator is applied in the order of replicas, blocking, started, to a root, and outside of steps", [] {
        auto strategy = strategy_of(5);
        const auto compose = mdist::Operator::of<Affine>("affine", composed);
        const Affine expected = all_composed(5);
        strategy.run([&](mdist::Replica &replica) {
            Affine own = of_replica(replica.id()), root = own;
            std::vector<int64_t> started{own.a, own.b};
            auto work = replica.all_reduce_start(compose, std::move(started));
            replica.all_reduce(compose, numbers(own));
            replica.reduce_to_root(compose, 3, numbers(root));
            require(own.a == expected.a && own.b == expected.b, "blocking");
            require(work.wait() == std::vector<int64_t>{expected.a, expected.b}, "started");
            require(replica.id() != 3 || root.b == expected.b, "to a root");
        });
        Affine all[5];
        std::vector<mdist::Buffer> buffers;
        for (uint32_t id = 0; id < 5; ++id) {
            all[id] = of_replica(id);
            buffers.emplace_back(numbers(all[id]));
        }
        strategy.all_reduce(compose, buffers);
        for (const Affine &one : all) require(one.a == expected.a && one.b == expected.b, "outside of steps");
    });
    check("what an operator throws comes back in words, and an operator that is gone is refused", [] {
        auto strategy = strategy_of(2);
        const auto bad = mdist::Operator::of<Affine>(
            "bad", [](const Affine &, const Affine &) -> Affine { throw std::runtime_error("no such pair"); });
        const auto step = [](mdist_reduce_op_t op) {
            return [op](mdist::Replica &replica) {
                Affine own{};
                replica.all_reduce(op, numbers(own));
            };
        };
        const auto thrown = thrown_by<mdist::Error>([&] { strategy.run(step(bad)); });
        require(thrown.status() == MDIST_ERR_CALLBACK && std::strstr(thrown.what(), "no such pair"), thrown.what());
        require_usable(strategy);
        mdist_reduce_op_t number;
        {
            auto moved = mdist::Operator::of<Affine>("moved", composed);
            const mdist::Operator here = std::move(moved);
            number = here;
            strategy.run(step(number));
        }
        const auto gone = thrown_by<mdist::Error>([&] { strategy.run(step(number)); });
        require(gone.status() == MDIST_ERR_INVALID_ARGUMENT, gone.what());
    });
}

void check_parts() {
    check("parts of any lengths go to their replicas, blocking and started", [] {
        auto strategy = strategy_of(3);
        strategy.run([&](mdist::Replica &replica) {
            const uint64_t id = replica.id();
            std::vector<uint64_t> lengths, given, expected;
            for (uint64_t to = 0; to < 3; ++to) {
                lengths.push_back(id + to);
                for (uint64_t i = 0; i < id + to; ++i) {
                    given.push_back(10 * id + to);
                    expected.push_back(10 * to + id);
                }
            }
            std::vector<uint64_t> taken(expected.size());
            replica.all_to_all_parts(given, lengths, taken, lengths);
            require(taken == expected, "blocking");
            auto work = replica.all_to_all_parts_start(given, lengths, std::vector<uint64_t>(expected.size()), lengths);
            require(work.wait().second == expected, "started");
            thrown_by<std::invalid_argument>(
                [&] { replica.all_to_all_parts(given, std::vector<uint64_t>{1}, taken, lengths); });
        });
    });
    check("lengths that do not match are told on all replicas", [] {
        auto strategy = strategy_of(2);
        const auto error = thrown_by<mdist::Error>([&] {
            strategy.run([](mdist::Replica &replica) {
                std::vector<float> in(2), out(2 + replica.id());
                replica.all_to_all_parts(in, std::vector<uint64_t>{1, 1}, out,
                                         std::vector<uint64_t>{1, 1 + replica.id()});
            });
        });
        require(error.status() == MDIST_ERR_MISMATCH, error.what());
    });
}

void check_calls() {
    check("prepared calls read their memory each time, and give what the collectives give", [] {
        auto strategy = strategy_of(2);
        struct Own {
            float sum, part;
            std::vector<float> gathered, scattered, swapped, rooted, pieces;
        } own[2];
        std::vector<std::vector<mdist::Prepared>> calls(2);
        const std::vector<uint64_t> lengths{1, 1};
        for (uint32_t i = 0; i < 2; ++i) {
            own[i] = {0, 0, {0, 0}, {0}, {0, 0}, {0, 0}, {0, 0}};
            auto &[sum, part, gathered, scattered, swapped, rooted, pieces] = own[i];
            calls[i].push_back(mdist::Prepared::all_reduce(strategy, i, MDIST_SUM, sum));
            calls[i].push_back(mdist::Prepared::broadcast(strategy, i, 1, part));
            calls[i].push_back(mdist::Prepared::all_gather(strategy, i, sum, gathered));
            calls[i].push_back(mdist::Prepared::reduce_scatter(strategy, i, MDIST_MAX, gathered, scattered));
            calls[i].push_back(mdist::Prepared::all_to_all(strategy, i, gathered, swapped));
            calls[i].push_back(mdist::Prepared::all_to_all_parts(strategy, i, gathered, lengths, pieces, lengths));
            calls[i].push_back(mdist::Prepared::gather_to_root(strategy, i, 1, part, rooted));
            calls[i].push_back(mdist::Prepared::scatter(strategy, i, 1, rooted, scattered));
            calls[i].push_back(mdist::Prepared::reduce_to_root(strategy, i, MDIST_PROD, 0, part));
            calls[i].push_back(mdist::Prepared::barrier(strategy, i));
        }
        for (const float first : {1.0f, 5.0f}) {
            strategy.run([&](mdist::Replica &replica) {
                own[replica.id()].sum = own[replica.id()].part = first + static_cast<float>(replica.id());
                for (mdist::Prepared &call : calls[replica.local_index()]) call.run(replica);
            });
            const float sum = 2 * first + 1, root = first + 1; // replica 1's part
            for (uint32_t i = 0; i < 2; ++i) {
                const std::vector<float> sums{sum, sum};
                require(own[i].sum == sum && own[i].gathered == sums && own[i].swapped == sums, "sums");
                require(own[i].pieces == sums && own[i].scattered[0] == root, "pieces and scattered");
            }
            require(own[1].rooted == std::vector<float>{root, root} && own[0].part == root * root, "at the roots");
        }
        strategy.run([&](mdist::Replica &replica) {
            own[replica.id()].sum = 1;
            calls[replica.local_index()][0].start(replica).wait();
        });
        require(own[0].sum == 2 && own[1].sum == 2, "started");
    });
    check("a prepared call in a group has a part for each member", [] {
        auto strategy = strategy_of(3);
        const std::vector<uint32_t> members{2, 0}; // in the order of the group
        mdist::Group pair(strategy, members);
        std::vector<uint64_t> given[2], taken[2];
        const std::vector<uint64_t> lengths{1, 1};
        std::vector<mdist::Prepared> calls;
        for (uint64_t at = 0; at < 2; ++at) {
            given[at] = {10 * at, 10 * at + 1};
            taken[at] = {0, 0};
            calls.push_back(
                mdist::Prepared::all_to_all_parts(strategy, members[at], given[at], lengths, taken[at], lengths, pair));
        }
        strategy.run([&](mdist::Replica &replica) {
            if (replica.id() != 1) calls[replica.id() == 2 ? 0 : 1].run(replica);
        });
        require(taken[0] == std::vector<uint64_t>{0, 10} && taken[1] == std::vector<uint64_t>{1, 11}, "parts");
        thrown_by<std::invalid_argument>([&] {
            mdist::Prepared::all_to_all_parts(strategy, 0, given[0], std::vector<uint64_t>{1, 1, 0}, taken[0], lengths,
                                              pair);
        });
    });
    check("a prepared call of another replica, or without a seat in the group, is refused in words", [] {
        auto strategy = strategy_of(2);
        auto call = mdist::Prepared::barrier(strategy, 0);
        const auto other =
            thrown_by<mdist::Error>([&] { strategy.run([&](mdist::Replica &replica) { call.run(replica); }); });
        require(std::strstr(other.what(), "Create a call for each local replica") != nullptr, other.what());
        mdist::Group one(strategy, {1});
        const auto refused = thrown_by<mdist::Error>([&] { mdist::Prepared::barrier(strategy, 0, one); });
        require(std::strstr(refused.what(), "replica 0 is not a member of") != nullptr, refused.what());
        auto alone = mdist::Prepared::barrier(strategy, 1, one);
        strategy.run([&](mdist::Replica &replica) {
            if (replica.id() == 1) alone.run(replica);
        });
    });
}

void check_messages() {
    check("messages go by sender and tag, blocking and started", [] {
        auto strategy = strategy_of(3);
        strategy.run([](mdist::Replica &replica) {
            const uint32_t id = replica.id(), right = (id + 1) % 3, left = (id + 2) % 3;
            auto sending = replica.send_start(right, 7, std::vector<uint32_t>(5000, id));
            std::vector<uint32_t> taken(5000);
            replica.receive(left, 7, taken);
            sending.wait();
            require(taken == std::vector<uint32_t>(5000, left), "a ring");
            const float first = 1, second = 2;
            replica.send(left, 1, first);
            replica.send(left, 2, second);
            auto later = replica.receive_start(right, 2, std::vector<float>(1));
            float found = 0;
            replica.receive(right, 1, found);
            require(found == 1 && later.wait()[0] == 2, "tags");
        });
    });
    check("messages whose sides differ, and a sender that never comes, are told", [] {
        auto strategy = strategy_of(2);
        const auto differ = thrown_by<mdist::Error>([&] {
            strategy.run([](mdist::Replica &replica) {
                std::vector<float> two(2), three(3);
                if (replica.id() == 0)
                    replica.send(1, 5, two);
                else
                    replica.receive(0, 5, three);
            });
        });
        require(differ.status() == MDIST_ERR_MISMATCH, differ.what());
        require_usable(strategy);
        const auto alone = thrown_by<mdist::Error>([&] {
            strategy.run([](mdist::Replica &replica) {
                float x = 0;
                if (replica.id() == 1) replica.receive(0, 5, x, std::chrono::milliseconds(10));
            });
        });
        require(std::strstr(alone.what(), "tag 5") != nullptr, alone.what());
    });
}

void check_ends_of_works() {
    check("a function hears once that an operation is over, or has failed", [] {
        auto strategy = strategy_of(2);
        std::atomic<int> done = 0, failed = 0, late = 0;
        strategy.run([&](mdist::Replica &replica) {
            auto work = replica.all_reduce_start(MDIST_SUM, std::vector<float>{1});
            work.on_done([&, kept = std::make_unique<int>(1)](mdist_status_t status) {
                done += status == MDIST_OK ? *kept : 9;
            });
            require(work.wait()[0] == 2, "the sum");
            work.on_done([&](mdist_status_t) { ++late; });
        });
        require(done == 2 && late == 2, "calls: " + std::to_string(done) + ", late: " + std::to_string(late));
        std::atomic<bool> started = false;
        thrown_by<std::runtime_error>([&] {
            strategy.run([&](mdist::Replica &replica) {
                if (replica.id() == 1) {
                    while (!started) std::this_thread::yield();
                    throw std::runtime_error("no");
                }
                auto work = replica.barrier_start();
                work.on_done([&](mdist_status_t status) { failed += status == MDIST_ERR_ABORTED ? 1 : 9; });
                started = true;
                work.wait();
            });
        });
        require(failed == 1, "failures: " + std::to_string(failed));
    });
}

void check_dlpack() {
    check("another library's tensor is reduced as it lies in memory, and is a value without a copy", [] {
        auto strategy = strategy_of(2);
        strategy.run([](mdist::Replica &replica) {
            float memory[6] = {0, 1, 2, 3, 4, 5};
            int64_t shape[] = {3, 2}, strides[] = {1, 3};
            Managed managed{memory, 1, 0, 2, 2, 32, 1, shape, strides, 0, nullptr, nullptr};
            auto *const theirs = reinterpret_cast<const DLManagedTensor *>(&managed);
            replica.all_reduce(MDIST_SUM, mdist::dlpack_buffer(theirs));
            for (int i = 0; i < 6; ++i) require(memory[i] == static_cast<float>(2 * i), "the sum");
            strides[1] = 4; // a gap
            const auto gap = thrown_by<mdist::Error>([&] { mdist::dlpack_buffer(theirs); });
            require(gap.reason() == "dlpack_strides", gap.what());
        });
        const mdist::Value value(std::vector<double>{1, 2, 3});
        const mdist::Value same = mdist::from_dlpack(mdist::to_dlpack(value));
        require(same.tensor().data == value.tensor().data, "it was copied");
        require(mdist::from_dlpack(mdist::to_dlpack_versioned(value)).tensor().data == value.tensor().data, "copied");
    });
}

} // namespace

void check_groups_and_calls() {
    check_groups();
    check_operators();
    check_parts();
    check_calls();
    check_messages();
    check_ends_of_works();
    check_dlpack();
}

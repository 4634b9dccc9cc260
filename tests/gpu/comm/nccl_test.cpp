// SPDX-License-Identifier: Apache-2.0
// NCCL in one process: every kind of collective, NCCL's errors, ranks that hang, and ending NCCL, each within its
// timeout.
#include "fake.h"
#include "lanes_support.h"
#include "strategy/job/call_functions.h"
#include "subject.h"

#include "comm/device/nccl_start.h"
#include "util/clock.h"

#include "mdist_test.h"

#include <future>

namespace {

using namespace mdist;

constexpr uint32_t kParties = 4;
constexpr std::size_t kElements = 1000;

/// Parties with one GPU each, and NCCL.
struct NcclParties : GpuParties {
    explicit NcclParties(uint32_t parties = kParties) : GpuParties(parties, parties) {
        lanes.set_nccl(start_nccl(&calls::kCreateStrategy, group, nullptr, lanes.lanes(), kTimeout_ns, obstacle));
    }
    std::string obstacle;
};

/// Fills a buffer with one number, or with one number for each part.
Twin filled(Gpu &gpu, const std::vector<int32_t> &numbers) {
    Twin twin;
    twin.allocate(gpu, numbers.size() * sizeof(int32_t), 0);
    if (!numbers.empty()) std::memcpy(twin.host.data(), numbers.data(), twin.host.size());
    twin.to_gpu(gpu);
    return twin;
}

std::vector<int32_t> numbers_of(const Twin &twin, const Gpu &gpu) {
    const std::vector<char> read = twin.from_gpu(gpu);
    std::vector<int32_t> numbers(read.size() / sizeof(int32_t));
    if (!read.empty()) std::memcpy(numbers.data(), read.data(), read.size());
    return numbers;
}

mdist_buffer_t buffer_of_twin(const Twin &twin, uint64_t elements) {
    return {elements == 0 ? nullptr : twin.on_gpu(), elements, MDIST_INT32, 0};
}

/// A call of party r, from one buffer to another.
void call(Executors &executors, uint32_t r, CallKind kind, int32_t op, const mdist_buffer_t &in,
          const mdist_buffer_t &out, uint32_t root = 0, uint64_t timeout_ns = kTimeout_ns) {
    Call call;
    call.kind = kind;
    call.op = op;
    call.root = root;
    call.inputs = &in;
    call.outputs = &out;
    call.buffer_count = 1;
    perform_collective(executors, r, call, timeout_ns);
}

Told reduce_all(NcclParties &world, std::vector<Twin> &twins, uint64_t timeout_ns = kTimeout_ns) {
    return on_all(world.group.parties(), [&](uint32_t r) {
        const mdist_buffer_t buffer = buffer_of_twin(twins[r], kElements);
        call(world.executors, r, &calls::kAllReduce, MDIST_SUM, buffer, buffer, 0, timeout_ns);
    });
}

std::vector<Twin> ones(NcclParties &world) {
    std::vector<Twin> twins;
    for (const auto &gpu : world.gpus) twins.push_back(filled(*gpu, std::vector<int32_t>(kElements, 1)));
    return twins;
}

void expect_well(const Told &told) {
    for (const std::string &each : told) {
        if (!each.empty()) print_error("%s\n", each.c_str());
        assert_true(each.empty());
    }
}

void it_starts_where_every_replica_has_a_gpu(void **) {
    fake_gpu()->reset();
    const NcclParties own;
    assert_string_equal(own.obstacle.c_str(), "");
    assert_true(own.lanes.uses_nccl());
    GpuParties shared(3, 2);
    std::string obstacle;
    assert_null(
        start_nccl(&calls::kCreateStrategy, shared.group, nullptr, shared.lanes.lanes(), kTimeout_ns, obstacle).get());
    assert_non_null(std::strstr(obstacle.c_str(), "share one GPU"));
}

void one_rank_lives_and_ends(void **) {
    fake_gpu()->reset();
    {
        NcclParties world(1);
        assert_string_equal(world.obstacle.c_str(), "");
        std::vector<Twin> twins = ones(world);
        expect_well(reduce_all(world, twins));
        assert_int_equal(numbers_of(twins[0], *world.gpus[0])[7], 1);
    }
    fake_gpu_live live;
    fake_gpu()->live(&live);
    assert_int_equal(live.comms, 0);
}

void sums_and_means(void **) {
    fake_gpu()->reset();
    NcclParties world;
    std::vector<Twin> twins = ones(world);
    for (int i = 0; i < 5; ++i) expect_well(reduce_all(world, twins));
    for (uint32_t r = 0; r < kParties; ++r)
        for (const int32_t number : numbers_of(twins[r], *world.gpus[r])) assert_int_equal(number, 1024);
    std::vector<Twin> means(kParties);
    for (uint32_t r = 0; r < kParties; ++r) {
        means[r].allocate(*world.gpus[r], sizeof(float), 0);
        const float value = static_cast<float>(r);
        std::memcpy(means[r].host.data(), &value, sizeof value);
        means[r].to_gpu(*world.gpus[r]);
    }
    expect_well(on_all(kParties, [&](uint32_t r) {
        const mdist_buffer_t buffer = {means[r].on_gpu(), 1, MDIST_FLOAT32, 0};
        call(world.executors, r, &calls::kAllReduce, MDIST_MEAN, buffer, buffer);
    }));
    for (uint32_t r = 0; r < kParties; ++r) {
        float mean;
        std::memcpy(&mean, means[r].from_gpu(*world.gpus[r]).data(), sizeof mean);
        assert_true(mean == 1.5f);
    }
}

/// Part r has r + 1 elements, or all parts have the same number. Its elements are 100 * r, 100 * r + 1 ...
struct Pieces {
    std::vector<std::vector<int32_t>> parts;
    std::vector<int32_t> whole;

    explicit Pieces(bool even) {
        for (uint32_t r = 0; r < kParties; ++r) {
            parts.emplace_back();
            for (uint32_t i = 0; i < (even ? 3 : r * 2); ++i) parts[r].push_back(static_cast<int32_t>(100 * r + i));
            whole.insert(whole.end(), parts[r].begin(), parts[r].end());
        }
    }
};

void gathers_and_scatters(void **) {
    fake_gpu()->reset();
    NcclParties world;
    for (const bool even : {true, false}) {
        const Pieces pieces(even);
        std::vector<Twin> parts, wholes, empty;
        const auto fresh = [&](bool full) {
            parts.clear();
            wholes.clear();
            for (uint32_t r = 0; r < kParties; ++r) {
                const std::vector<int32_t> none(pieces.parts[r].size(), -1), nothing(pieces.whole.size(), -1);
                parts.push_back(filled(*world.gpus[r], full ? pieces.parts[r] : none));
                wholes.push_back(filled(*world.gpus[r], full ? nothing : pieces.whole));
            }
        };
        const auto part = [&](uint32_t r) { return buffer_of_twin(parts[r], pieces.parts[r].size()); };
        const auto whole = [&](uint32_t r) { return buffer_of_twin(wholes[r], pieces.whole.size()); };
        const mdist_buffer_t none = {nullptr, 0, MDIST_INT32, 0};
        fresh(true);
        expect_well(
            on_all(kParties, [&](uint32_t r) { call(world.executors, r, &calls::kAllGather, 0, part(r), whole(r)); }));
        for (uint32_t r = 0; r < kParties; ++r) assert_true(numbers_of(wholes[r], *world.gpus[r]) == pieces.whole);
        fresh(true);
        expect_well(on_all(kParties, [&](uint32_t r) {
            call(world.executors, r, &calls::kGatherToRoot, 0, part(r), r == 2 ? whole(r) : none, 2);
        }));
        assert_true(numbers_of(wholes[2], *world.gpus[2]) == pieces.whole);
        fresh(false);
        expect_well(on_all(kParties, [&](uint32_t r) {
            call(world.executors, r, &calls::kScatter, 0, r == 1 ? whole(r) : none, part(r), 1);
        }));
        for (uint32_t r = 0; r < kParties; ++r) assert_true(numbers_of(parts[r], *world.gpus[r]) == pieces.parts[r]);
        fresh(false);
        expect_well(on_all(kParties, [&](uint32_t r) {
            call(world.executors, r, &calls::kReduceScatter, MDIST_MAX, whole(r), part(r));
        }));
        for (uint32_t r = 0; r < kParties; ++r) assert_true(numbers_of(parts[r], *world.gpus[r]) == pieces.parts[r]);
    }
}

void transposes_broadcasts_and_reduces_to_a_root(void **) {
    fake_gpu()->reset();
    NcclParties world;
    std::vector<Twin> in, out;
    for (uint32_t r = 0; r < kParties; ++r) {
        std::vector<int32_t> numbers;
        for (uint32_t to = 0; to < kParties; ++to) numbers.push_back(static_cast<int32_t>(10 * r + to));
        in.push_back(filled(*world.gpus[r], numbers));
        out.push_back(filled(*world.gpus[r], std::vector<int32_t>(kParties, -1)));
    }
    const auto from = [&](uint32_t r) { return buffer_of_twin(in[r], kParties); };
    const auto to = [&](uint32_t r) { return buffer_of_twin(out[r], kParties); };
    expect_well(on_all(kParties, [&](uint32_t r) { call(world.executors, r, &calls::kAllToAll, 0, from(r), to(r)); }));
    for (uint32_t r = 0; r < kParties; ++r)
        for (uint32_t i = 0; i < kParties; ++i)
            assert_int_equal(numbers_of(out[r], *world.gpus[r])[i], static_cast<int>(10 * i + r));
    expect_well(on_all(kParties, [&](uint32_t r) {
        const mdist_buffer_t none = {nullptr, 0, MDIST_INT32, 0};
        call(world.executors, r, &calls::kReduceToRoot, MDIST_SUM, from(r), r == 3 ? to(r) : none, 3);
    }));
    assert_int_equal(numbers_of(out[3], *world.gpus[3])[1], 64);
    expect_well(
        on_all(kParties, [&](uint32_t r) { call(world.executors, r, &calls::kBroadcast, 0, from(r), from(r), 2); }));
    assert_int_equal(numbers_of(in[0], *world.gpus[0])[1], 21);
}

/// Any failure in it ends the group for good, with a message. Everything can still be destroyed.
void expect_failure(const char *fault, uint64_t timeout_ns, const char *words) {
    fake_gpu()->reset();
    {
        NcclParties world;
        std::vector<Twin> twins = ones(world);
        assert_true(fake_gpu()->plan(fault));
        const uint64_t begin = monotonic_clock().now_ns();
        reduce_all(world, twins, timeout_ns);
        for (const auto &gpu : world.gpus) {
            gpu->set_timeout(kTimeout_ns);
            try {
                gpu->finish();
            } catch (const Failure &) {
                // The error is the GPU's own. It only matters that the call ends.
            }
        }
        while (!world.group.failed() && monotonic_clock().now_ns() - begin < kTimeout_ns) std::this_thread::yield();
        assert_true(world.group.failed());
        const std::string cause = world.group.cause()->message();
        if (cause.find(words) == std::string::npos) print_error("%s: %s\n", fault, cause.c_str());
        assert_true(cause.find(words) != std::string::npos);
        for (const std::string &each : reduce_all(world, twins)) assert_false(each.empty());
    }
    fake_gpu()->reset();
    fake_gpu_live live;
    fake_gpu()->live(&live);
    assert_int_equal(live.comms, 0);
}

void a_refused_call_ends_it(void **) {
    expect_failure("nccl_all_reduce@2", kTimeout_ns, "NCCL");
}

void an_error_on_the_way_ends_it(void **) {
    expect_failure("nccl_async_error@6", kTimeout_ns, "NCCL");
}

void a_rank_that_hangs_is_told_in_time(void **) {
    expect_failure("nccl_all_reduce@2:hang", 300'000'000, "300 ms");
}

void a_start_that_fails_is_an_obstacle(void **) {
    fake_gpu()->reset();
    for (const char *fault : {"nccl_unique_id@1", "nccl_init@2", "nccl_async_error@3"}) {
        assert_true(fake_gpu()->plan(fault));
        NcclParties world;
        assert_false(world.lanes.uses_nccl());
        assert_false(world.obstacle.empty());
        fake_gpu()->reset();
        std::vector<Twin> twins = ones(world); // now without NCCL
        expect_well(reduce_all(world, twins));
        assert_int_equal(numbers_of(twins[1], *world.gpus[1])[3], kParties);
    }
}

/// Communicators of two GPUs, and the failure that they report.
struct Watched : GpuParties {
    Watched() : GpuParties(2, 2) {
        std::string reason;
        const mdist_nccl_api &api = *nccl_api(reason);
        NcclComms::Id id(MDIST_GPU_ID_BYTES);
        assert_int_equal(api.unique_id(id.data()), 0);
        comms.emplace(
            api, lanes.lanes(), 2, 0, id, [this](const Failure &failure) { wrong.set_value(failure.message()); },
            [] { return false; });
        comms->ready(kTimeout_ns);
    }
    std::promise<std::string> wrong;
    std::optional<NcclComms> comms;
};

void each_call_has_a_deadline_of_its_own(void **) {
    fake_gpu()->reset();
    Watched world;
    const auto marks = [&] {
        auto made = std::make_shared<LaneMarks>();
        made->events.push_back(world.gpus[0]->record());
        return made;
    };
    const Memory memory = world.gpus[0]->allocate(64);
    assert_true(fake_gpu()->plan("job@1:hang"));
    world.gpus[0]->zero(memory.get(), 64);
    world.comms->watch(marks(), "the first", kTimeout_ns);
    world.comms->watch(marks(), "the second", 100'000'000);
    assert_non_null(std::strstr(world.wrong.get_future().get().c_str(), "the second: NCCL did not finish within"));
    fake_gpu()->reset();
}

void an_abort_that_hangs_keeps_nobody_waiting(void **) {
    fake_gpu()->reset();
    Watched world;
    const uint64_t before = fake_gpu()->calls("nccl_abort");
    assert_true(fake_gpu()->plan("nccl_abort@1:hang"));
    world.comms->abandon();
    while (fake_gpu()->calls("nccl_abort") == before) std::this_thread::yield();
    mdist_status_t status = MDIST_OK;
    try {
        world.comms->issue([] {}, "a call", kTimeout_ns);
    } catch (const Failure &failure) {
        status = failure.status();
    }
    assert_int_equal(status, MDIST_ERR_ABORTED);
    fake_gpu()->reset();
}

} // namespace

SUBJECT(nccl) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_starts_where_every_replica_has_a_gpu),
        cmocka_unit_test(one_rank_lives_and_ends),
        cmocka_unit_test(sums_and_means),
        cmocka_unit_test(gathers_and_scatters),
        cmocka_unit_test(transposes_broadcasts_and_reduces_to_a_root),
        cmocka_unit_test(a_refused_call_ends_it),
        cmocka_unit_test(an_error_on_the_way_ends_it),
        cmocka_unit_test(a_rank_that_hangs_is_told_in_time),
        cmocka_unit_test(a_start_that_fails_is_an_obstacle),
        cmocka_unit_test(each_call_has_a_deadline_of_its_own),
        cmocka_unit_test(an_abort_that_hangs_keeps_nobody_waiting),
    };
    return cmocka_run_group_tests_name("gpu/comm/nccl", tests, nullptr, nullptr);
}

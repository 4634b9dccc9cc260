// SPDX-License-Identifier: Apache-2.0
// Collectives of GPU memory give the same bits as on the CPU, for every kind, type, operation and layout, in place and
// not. The tests wait only for the streams.
#include "device/gpu/overdue.h"
#include "fake.h"
#include "lanes_support.h"
#include "strategy/job/call_functions.h"
#include "subject.h"

#include "mdist_test.h"

namespace {

using namespace mdist;

constexpr CallKind kKinds[] = {&calls::kAllReduce,     &calls::kReduceToRoot, &calls::kBroadcast,    &calls::kAllGather,
                               &calls::kReduceScatter, &calls::kAllToAll,     &calls::kGatherToRoot, &calls::kScatter};

bool has_parts(CallKind kind) {
    return kind != &calls::kAllReduce && kind != &calls::kReduceToRoot && kind != &calls::kBroadcast;
}

/// A call of all replicas. Each buffer has a whole and a part, which may have the same length.
class Scene {
  public:
    Scene(std::mt19937_64 &random, GpuParties &world, CallKind kind)
        : world_(world), kind_(kind), parties_(world.group.parties()) {
        const auto below = [&random](uint64_t n) { return random() % n; };
        count_ = 1 + below(3);
        in_place_ = kind == &calls::kBroadcast || (kind != &calls::kAllToAll && below(2) == 0);
        root_ = static_cast<uint32_t>(below(parties_));
        op_ = kind == &calls::kAllReduce || kind == &calls::kReduceToRoot || kind == &calls::kReduceScatter
                  ? static_cast<int32_t>(1 + below(5))
                  : 0;
        const uint64_t limit = below(8) == 0 ? 200000 : below(2) == 0 ? 5000 : 40;
        const bool even = kind == &calls::kAllToAll || !has_parts(kind) || below(3) == 0;
        for (std::size_t b = 0; b < count_; ++b) {
            dtypes_.push_back(static_cast<int32_t>(1 + below(op_ == MDIST_MEAN ? 4 : 10)));
            const uint64_t equal = below(5) == 0 ? 0 : below(limit);
            parts_.emplace_back();
            for (uint32_t r = 0; r < parties_; ++r)
                parts_[b].push_back(even ? equal : below(4) == 0 ? 0 : below(limit));
        }
        wholes_.resize(parties_);
        pieces_.resize(parties_);
        for (uint32_t r = 0; r < parties_; ++r)
            for (std::size_t b = 0; b < count_; ++b) allocate(random, r, b);
    }

    void to_gpus() {
        for (uint32_t r = 0; r < parties_; ++r)
            for (std::size_t b = 0; b < count_; ++b)
                for (const Twin *twin : {&wholes_[r][b], &pieces_[r][b]}) twin->to_gpu(*world_.gpus[r]);
    }

    /// The call of replica r, with its buffers on the host or on the GPU.
    struct Own {
        std::vector<mdist_buffer_t> inputs, outputs;
        Call call;
    };
    std::unique_ptr<Own> call_of(uint32_t r, bool on_gpu) {
        auto own = std::make_unique<Own>();
        for (std::size_t b = 0; b < count_; ++b) {
            const mdist_buffer_t whole = buffer(wholes_[r][b], b, whole_length(b), on_gpu);
            mdist_buffer_t part = buffer(pieces_[r][b], b, part_length(r, b), on_gpu);
            if (in_place_) {
                const uint64_t offset = has_parts(kind_) ? offset_of(r, b) : 0;
                part.data = static_cast<char *>(whole.data) + offset * dtype_size(dtypes_[b]);
            }
            const mdist_buffer_t none = {nullptr, 0, dtypes_[b], 0};
            const bool whole_goes_in = kind_ == &calls::kReduceScatter || kind_ == &calls::kScatter;
            mdist_buffer_t in = whole_goes_in ? whole : part, out = whole_goes_in ? part : whole;
            if (r != root_ && kind_ == &calls::kScatter) in = none;
            if (r != root_ && (kind_ == &calls::kGatherToRoot || kind_ == &calls::kReduceToRoot)) out = none;
            own->inputs.push_back(in);
            own->outputs.push_back(out);
        }
        Call &call = own->call;
        call.kind = kind_;
        call.op = op_;
        call.root = kind_->traits().has_root ? root_ : 0;
        call.inputs = own->inputs.data();
        call.outputs = own->outputs.data();
        call.buffer_count = count_;
        return own;
    }

    /// Asserts that all memory of all replicas is the same on the host and on the GPUs.
    bool alike() const {
        for (uint32_t r = 0; r < parties_; ++r)
            for (std::size_t b = 0; b < count_; ++b)
                for (const Twin *twin : {&wholes_[r][b], &pieces_[r][b]})
                    if (twin->from_gpu(*world_.gpus[r]) != twin->host) return false;
        return true;
    }

  private:
    uint64_t offset_of(uint32_t r, std::size_t b) const {
        uint64_t offset = 0;
        for (uint32_t other = 0; other < r; ++other) offset += parts_[b][other];
        return offset;
    }
    uint64_t whole_length(std::size_t b) const { return has_parts(kind_) ? offset_of(parties_, b) : parts_[b][0]; }
    uint64_t part_length(uint32_t r, std::size_t b) const {
        return kind_ == &calls::kAllToAll ? whole_length(b) : parts_[b][r];
    }

    void allocate(std::mt19937_64 &random, uint32_t r, std::size_t b) {
        const std::size_t size = dtype_size(dtypes_[b]);
        wholes_[r].emplace_back();
        pieces_[r].emplace_back();
        wholes_[r][b].allocate(*world_.gpus[r], whole_length(b) * size, random() % 3 == 0 ? random() % 32 : 0);
        pieces_[r][b].allocate(*world_.gpus[r], part_length(r, b) * size, random() % 3 == 0 ? random() % 32 : 0);
        for (Twin *twin : {&wholes_[r][b], &pieces_[r][b]})
            for (std::size_t at = 0; at < twin->host.size(); at += 8) {
                const uint64_t eight = random();
                std::memcpy(&twin->host[at], &eight, std::min<std::size_t>(8, twin->host.size() - at));
            }
    }

    mdist_buffer_t buffer(Twin &twin, std::size_t b, uint64_t elements, bool on_gpu) const {
        return {on_gpu ? twin.on_gpu() : twin.host.data(), elements, dtypes_[b], 0};
    }

    GpuParties &world_;
    const CallKind kind_;
    const uint32_t parties_;
    std::size_t count_;
    bool in_place_;
    uint32_t root_;
    int32_t op_;
    std::vector<int32_t> dtypes_;
    std::vector<std::vector<uint64_t>> parts_;       // [buffer][replica]
    std::vector<std::vector<Twin>> wholes_, pieces_; // [replica][buffer]
};

void perform(Executors &executors, Scene &scene, uint32_t party, bool on_gpu) {
    const auto own = scene.call_of(party, on_gpu);
    perform_collective(executors, party, own->call, kTimeout_ns);
}

void expect_well(const Told &told) {
    for (const std::string &each : told) {
        if (!each.empty()) print_error("%s\n", each.c_str());
        assert_true(each.empty());
    }
}

void try_layout(uint32_t parties, uint32_t physical) {
    std::mt19937_64 random(test_seed(20261122) + parties * 10 + physical);
    GpuParties world(parties, physical);
    for (const CallKind kind : kKinds)
        for (int turn = 0; turn < (is_long() ? 60 : 6); ++turn) {
            Group group(parties, Patience{}, kTimeout_ns);
            Executors plain(group);
            Scene scene(random, world, kind);
            scene.to_gpus();
            expect_well(on_all(parties, [&](uint32_t party) { perform(plain, scene, party, false); }));
            expect_well(on_all(parties, [&](uint32_t party) { perform(world.executors, scene, party, true); }));
            if (!scene.alike()) print_error("%s, %u on %u, turn %d\n", kind->name(), parties, physical, turn);
            assert_true(scene.alike());
        }
}

void logical_devices_give_the_bits_of_the_cpu(void **) {
    for (const uint32_t parties : {1u, 2u, 3u, 4u, 8u}) try_layout(parties, 1);
}

void several_gpus_give_the_bits_of_the_cpu(void **) {
    try_layout(2, 2);
    try_layout(3, 2);
    try_layout(4, 4);
    try_layout(8, 4);
}

/// Each step's result is the input of the next one, and only the streams order them. So a missing wait changes the
/// result.
void nobody_waits_for_a_stream(void **) {
    constexpr std::size_t kElements = 3000;
    constexpr int kSteps = 40;
    GpuParties world(3, 1);
    std::vector<Twin> values(3);
    std::vector<Memory> results;
    for (uint32_t r = 0; r < 3; ++r) {
        values[r].allocate(*world.gpus[r], kElements * sizeof(float), 0);
        const float one = static_cast<float>(r + 1);
        for (std::size_t i = 0; i < kElements; ++i) std::memcpy(&values[r].host[i * sizeof one], &one, sizeof one);
        values[r].to_gpu(*world.gpus[r]);
        results.push_back(world.gpus[r]->allocate(kElements * sizeof(float)));
    }
    expect_well(on_all(3, [&](uint32_t r) {
        const mdist_buffer_t in = {values[r].on_gpu(), kElements, MDIST_FLOAT32, 0};
        const mdist_buffer_t out = {results[r].get(), kElements, MDIST_FLOAT32, 0};
        Call call;
        call.kind = &calls::kAllReduce;
        call.op = MDIST_MEAN;
        call.inputs = &in;
        call.outputs = &out;
        call.buffer_count = 1;
        for (int step = 0; step < kSteps; ++step) {
            perform_collective(world.executors, r, call, kTimeout_ns);
            world.gpus[r]->copy(in.data, out.data, kElements * sizeof(float));
            world.gpus[r]->zero(out.data, kElements * sizeof(float));
        }
    }));
    for (uint32_t r = 0; r < 3; ++r) {
        const std::vector<char> read = values[r].from_gpu(*world.gpus[r]);
        for (std::size_t i = 0; i < kElements; ++i) {
            float value;
            std::memcpy(&value, &read[i * sizeof value], sizeof value);
            assert_true(value == 2.0f); // the mean of 1, 2 and 3, and of twos
        }
    }
}

/// Starts collectives in one order and waits for them in another. Reads each result right after its own wait.
void started_operations_are_ordered_where_they_are_waited_for(void **) {
    constexpr uint32_t kParties = 4;
    constexpr std::size_t kCount = 12;
    GpuParties world(kParties, 2);
    OperationQueue queue(world.executors);
    std::vector<std::vector<Twin>> values(kParties, std::vector<Twin>(kCount));
    for (uint32_t r = 0; r < kParties; ++r)
        for (std::size_t i = 0; i < kCount; ++i) {
            values[r][i].allocate(*world.gpus[r], 700 * sizeof(int32_t), 0);
            for (std::size_t e = 0; e < 700; ++e) {
                const int32_t value = static_cast<int32_t>(e * (i + 1) + r);
                std::memcpy(&values[r][i].host[e * sizeof value], &value, sizeof value);
            }
            values[r][i].to_gpu(*world.gpus[r]);
        }
    std::vector<std::vector<char>> read(kParties * kCount);
    expect_well(on_all(kParties, [&](uint32_t r) {
        std::vector<std::shared_ptr<Operation>> started;
        for (std::size_t i = 0; i < kCount; ++i) {
            const mdist_buffer_t buffer = {values[r][i].on_gpu(), 700, MDIST_INT32, 0};
            Call call;
            call.kind = &calls::kAllReduce;
            call.op = MDIST_SUM;
            call.inputs = call.outputs = &buffer;
            call.buffer_count = 1;
            started.push_back(queue.start(r, call, kTimeout_ns));
        }
        for (std::size_t n = 0; n < kCount; ++n) {
            const std::size_t i = (n * 5 + r) % kCount;
            queue.wait(*started[i], kNoDeadline);
            read[r * kCount + i] = values[r][i].from_gpu(*world.gpus[r]);
        }
    }));
    for (uint32_t r = 0; r < kParties; ++r)
        for (std::size_t i = 0; i < kCount; ++i)
            for (std::size_t e = 0; e < 700; ++e) {
                int32_t value;
                std::memcpy(&value, &read[r * kCount + i][e * sizeof value], sizeof value);
                assert_int_equal(value, static_cast<int32_t>(kParties * e * (i + 1) + 6));
            }
}

void places_that_do_not_fit_are_refused(void **) {
    GpuParties world(2, 2);
    Twin own, other;
    own.allocate(*world.gpus[0], 64, 0);
    other.allocate(*world.gpus[1], 64, 0);
    const auto told = [&](void *in, void *out) -> std::string {
        const mdist_buffer_t input = {in, 4, MDIST_FLOAT32, 0}, output = {out, 4, MDIST_FLOAT32, 0};
        Call call;
        call.kind = &calls::kAllReduce;
        call.op = MDIST_SUM;
        call.inputs = &input;
        call.outputs = &output;
        call.buffer_count = 1;
        try {
            return world.lanes.holds(0, call) ? "gpu" : "host";
        } catch (const Failure &failure) {
            assert_int_equal(failure.status(), MDIST_ERR_INVALID_ARGUMENT);
            return failure.message();
        }
    };
    assert_string_equal(told(own.on_gpu(), own.on_gpu()).c_str(), "gpu");
    assert_string_equal(told(own.host.data(), own.host.data()).c_str(), "host");
    assert_non_null(std::strstr(told(own.on_gpu(), own.host.data()).c_str(), "output 0 lies on the host"));
    assert_non_null(std::strstr(told(own.host.data(), own.on_gpu()).c_str(), "output 0 lies on gpu:0"));
    assert_non_null(std::strstr(told(other.on_gpu(), own.on_gpu()).c_str(), "input 0 lies on gpu:1"));
}

void host_and_gpu_do_not_meet(void **) {
    GpuParties world(2, 1);
    Twin own;
    own.allocate(*world.gpus[0], 64, 0);
    std::vector<char> host(64);
    const Told told = on_all(2, [&](uint32_t r) {
        const mdist_buffer_t buffer = {r == 0 ? own.on_gpu() : host.data(), 4, MDIST_FLOAT32, 0};
        Call call;
        call.kind = &calls::kAllReduce;
        call.op = MDIST_SUM;
        call.inputs = call.outputs = &buffer;
        call.buffer_count = 1;
        perform_collective(world.executors, r, call, kTimeout_ns);
    });
    for (const std::string &each : told) {
        assert_non_null(std::strstr(each.c_str(), "1 buffer on the GPU: float32 x 4"));
        assert_non_null(std::strstr(each.c_str(), "1 buffer: float32 x 4"));
    }
}

/// If the lanes' streams cannot be marked, the leader waits for them. Here the first job of a lane hangs.
void what_cannot_be_marked_is_waited_for_in_time(void **) {
    GpuParties world(2, 1);
    std::vector<Twin> values(2);
    for (uint32_t r = 0; r < 2; ++r) {
        values[r].allocate(*world.gpus[r], 64, 0);
        values[r].to_gpu(*world.gpus[r]);
    }
    assert_true(fake_gpu()->plan("job@1:hang"));
    assert_true(fake_gpu()->plan("event_record@3")); // after those of the parties
    const Told told = on_all(2, [&](uint32_t r) {
        const mdist_buffer_t buffer = {values[r].on_gpu(), 16, MDIST_FLOAT32, 0};
        Call call;
        call.kind = &calls::kAllReduce;
        call.op = MDIST_SUM;
        call.inputs = call.outputs = &buffer;
        call.buffer_count = 1;
        perform_collective(world.executors, r, call, 300'000'000);
    });
    for (const std::string &each : told)
        assert_non_null(std::strstr(each.c_str(), "a collective did not finish within 300 ms"));
    fake_gpu()->reset();
}

/// A lane may be destroyed before its stream has done its work. Its memory is not reused before that.
void scratch_memory_is_used_to_its_end(void **) {
    PhysicalGpu &gpu = PhysicalGpu::at(0);
    constexpr std::size_t kBytes = std::size_t{1} << 20;
    void *scratch = nullptr;
    {
        Lane lane(gpu);
        scratch = lane.scratch(kBytes);
        assert_true(fake_gpu()->plan("job@1:hang"));
        assert_int_equal(gpu.api().fill(0, scratch, 1, kBytes, lane.stream()), 0);
        assert_false(lane.finish(1'000'000));
        not_done(gpu, lane.stream(), "a collective", 1'000'000); // otherwise the lane would wait
    }
    std::vector<Memory> others;
    for (int i = 0; i < 20; ++i) {
        others.push_back(gpu.allocate(kBytes));
        assert_ptr_not_equal(others.back().get(), scratch);
    }
    fake_gpu()->reset();
}

} // namespace

SUBJECT(lanes) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logical_devices_give_the_bits_of_the_cpu),
        cmocka_unit_test(several_gpus_give_the_bits_of_the_cpu),
        cmocka_unit_test(nobody_waits_for_a_stream),
        cmocka_unit_test(started_operations_are_ordered_where_they_are_waited_for),
        cmocka_unit_test(places_that_do_not_fit_are_refused),
        cmocka_unit_test(host_and_gpu_do_not_meet),
        cmocka_unit_test(what_cannot_be_marked_is_waited_for_in_time),
        cmocka_unit_test(scratch_memory_is_used_to_its_end),
    };
    return cmocka_run_group_tests_name("gpu/comm/lanes", tests, nullptr, nullptr);
}

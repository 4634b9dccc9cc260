// SPDX-License-Identifier: Apache-2.0
// Streams, events, kernels and errors of simulated GPUs.
#include "fake_test.h"

namespace {

using namespace fake_gpu;

void a_stream_keeps_its_order(void **) {
    Worker worker(0, 1);
    float value = 0;
    const float one = 1;
    assert_int_equal(fake().gpu.fill(0, worker.data, 0, 4, worker.stream), 0);
    for (int i = 0; i < 50; ++i) {
        assert_int_equal(fake().gpu.copy(0, worker.data, i == 25 ? &one : worker.data, 4, worker.stream), 0);
        assert_int_equal(add(0, worker.data, worker.data, 1, worker.stream), 0);
        if (i == 30) assert_int_equal(fake().gpu.divide(0, MDIST_FLOAT32, worker.data, 64, 1, worker.stream), 0);
    }
    worker.get(&value);
    assert_true(value == float(1 << 19)); // 1 in turn 25, doubled 25 times, once divided by 2^6
}

void streams_wait_for_events(void **) {
    const mdist_gpu_api &gpu = fake().gpu;
    Worker first(0, 1000);
    Worker second(1, 1000);
    mdist_gpu_event *event = nullptr;
    assert_int_equal(gpu.event_create(0, 0, &event), 0);
    assert_int_equal(gpu.event_query(0, event), 0); // never recorded
    for (int turn = 0; turn < 20; ++turn) {
        std::vector<unsigned char> bytes(4000);
        assert_int_equal(gpu.spin(0, 300, first.stream), 0);
        assert_int_equal(gpu.fill(0, first.data, turn, 4000, first.stream), 0);
        assert_int_equal(gpu.event_record(0, event, first.stream), 0);
        assert_int_equal(gpu.kind(gpu.event_query(0, event)), MDIST_GPU_NOT_READY);
        assert_int_equal(gpu.stream_wait(1, second.stream, event), 0);
        assert_int_equal(gpu.copy(1, second.data, first.data, 4000, second.stream), 0);
        second.get(reinterpret_cast<float *>(bytes.data()));
        assert_int_equal(gpu.event_query(0, event), 0);
        for (const unsigned char byte : bytes) assert_int_equal(byte, turn);
    }
    assert_int_equal(gpu.event_destroy(0, event), 0);
    assert_int_equal(problem_count(), 0);
}

void an_event_outlives_its_handle_on_streams(void **) {
    const mdist_gpu_api &gpu = fake().gpu;
    Worker first(0, 1);
    Worker second(0, 1);
    mdist_gpu_event *event = nullptr;
    assert_int_equal(gpu.event_create(0, 0, &event), 0);
    assert_int_equal(gpu.spin(0, 500, first.stream), 0);
    assert_int_equal(gpu.event_record(0, event, first.stream), 0);
    assert_int_equal(gpu.stream_wait(0, second.stream, event), 0);
    assert_int_equal(gpu.event_destroy(0, event), 0);
    assert_int_equal(finish(0, second.stream), 0);
    assert_int_equal(gpu.kind(gpu.event_query(0, event)), MDIST_GPU_INVALID);
    fake().controls.reset();
}

void timed_events_say_how_long_it_was(void **) {
    const mdist_gpu_api &gpu = fake().gpu;
    Worker worker(0, 1);
    mdist_gpu_event *events[2] = {};
    for (mdist_gpu_event *&event : events) assert_int_equal(gpu.event_create(0, 1, &event), 0);
    assert_int_equal(gpu.event_record(0, events[0], worker.stream), 0);
    assert_int_equal(gpu.spin(0, 2000, worker.stream), 0);
    assert_int_equal(gpu.event_record(0, events[1], worker.stream), 0);
    assert_int_equal(finish(0, worker.stream), 0);
    float milliseconds = 0;
    assert_int_equal(gpu.event_elapsed(events[0], events[1], &milliseconds), 0);
    assert_true(milliseconds >= 2);
    for (mdist_gpu_event *event : events) assert_int_equal(gpu.event_destroy(0, event), 0);
}

void release_waits_for_the_streams(void **) {
    const mdist_gpu_api &gpu = fake().gpu;
    Worker worker(0, 1);
    void *memory = nullptr;
    assert_int_equal(gpu.allocate(0, 4, &memory), 0);
    assert_int_equal(gpu.spin(0, 2000, worker.stream), 0);
    assert_int_equal(gpu.fill(0, memory, 0, 4, worker.stream), 0);
    assert_int_equal(gpu.release(0, memory), 0);
    assert_int_equal(finish(0, worker.stream), 0);
}

void a_destroyed_stream_does_what_it_was_given(void **) {
    const mdist_gpu_api &gpu = fake().gpu;
    Worker worker(0, 1);
    mdist_gpu_stream *stream = nullptr;
    mdist_gpu_event *event = nullptr;
    assert_int_equal(gpu.stream_create(0, -1, &stream), 0);
    assert_int_equal(gpu.event_create(0, 0, &event), 0);
    assert_int_equal(gpu.spin(0, 1000, stream), 0);
    assert_int_equal(gpu.fill(0, worker.data, 0, 4, stream), 0);
    assert_int_equal(gpu.event_record(0, event, stream), 0);
    assert_int_equal(gpu.stream_destroy(0, stream), 0);
    assert_int_equal(gpu.kind(gpu.fill(0, worker.data, 0, 4, stream)), MDIST_GPU_INVALID);
    assert_int_equal(gpu.stream_wait(0, worker.stream, event), 0);
    float value = 1;
    worker.get(&value);
    assert_true(value == 0);
    assert_int_equal(gpu.event_destroy(0, event), 0);
    fake().controls.reset();
}

void kernels_compute_what_the_cpu_does(void **) {
    const mdist_gpu_api &gpu = fake().gpu;
    Worker a(0, 3);
    Worker b(0, 3);
    const float first[] = {1, -2, 1e30f};
    const float second[] = {3, 5, 1e30f};
    float got[3];
    a.put(first);
    b.put(second);
    const void *sources[] = {a.data, b.data};
    void *destinations[] = {b.data};
    const mdist_gpu_reduction mean = {MDIST_FLOAT32, 2, 4, 2, 1, sources, destinations, 3};
    assert_int_equal(gpu.reduce(0, &mean, 1, b.stream), 0);
    sources[0] = nullptr; // it was read
    b.get(got);
    assert_true(got[0] == 1 && got[1] == 0.75f && got[2] == 0.5e30f);
    assert_int_equal(gpu.cast(0, MDIST_FLOAT32, b.data, MDIST_FLOAT32, b.data, 2, 3, b.stream), 0);
    assert_int_equal(add(0, b.data, a.data, 3, b.stream, MDIST_GPU_DIFFERENCE), 0);
    b.get(got);
    assert_true(got[0] == 1 && got[1] == 3.5f && got[2] == 0);
    Worker sum(0, 2);
    double squares = 0;
    const mdist_gpu_squares item = {MDIST_FLOAT32, b.data, 2, reinterpret_cast<double *>(sum.data)};
    Worker room(0, MDIST_GPU_SQUARES_ROOM / sizeof(float));
    assert_int_equal(gpu.squares(0, &item, 1, room.data, b.stream), 0);
    assert_int_equal(gpu.copy(0, &squares, sum.data, sizeof squares, b.stream), 0);
    assert_int_equal(finish(0, b.stream), 0);
    assert_true(squares == 13.25);
    uint16_t half[2] = {};
    assert_int_equal(gpu.cast(0, MDIST_FLOAT16, sum.data, MDIST_FLOAT32, b.data, 2, 2, b.stream), 0);
    assert_int_equal(gpu.copy(0, half, sum.data, sizeof half, b.stream), 0);
    assert_int_equal(finish(0, b.stream), 0);
    assert_int_equal(half[0], 0x4000); // 2
    assert_int_equal(half[1], 0x4700); // 7
    const mdist_gpu_stretch stretches[] = {{a.data, b.data + 1, 4}, {a.data + 1, b.data, 4}};
    assert_int_equal(gpu.copy_many(0, stretches, 2, a.stream), 0);
    a.get(got);
    assert_true(got[0] == 3.5f && got[1] == 1);
    assert_int_equal(problem_count(), 0);
}

void errors_of_jobs_are_for_good(void **) {
    const mdist_gpu_api &gpu = fake().gpu;
    Worker worker(0, 1);
    Worker other(1, 1);
    float host = 5;
    fake().controls.plan("job@2");
    assert_int_equal(gpu.fill(0, worker.data, 0, 4, worker.stream), 0);
    assert_int_equal(gpu.fill(0, worker.data, 1, 4, worker.stream), 0);
    assert_int_equal(gpu.kind(finish(0, worker.stream)), MDIST_GPU_FATAL);
    assert_int_equal(gpu.kind(gpu.copy(0, &host, worker.data, 4, worker.stream)), MDIST_GPU_FATAL);
    assert_int_equal(gpu.copy(1, other.data, &host, 4, other.stream), 0); // another GPU still works
    assert_int_equal(finish(1, other.stream), 0);
    assert_true(host == 5);
    fake().controls.reset();
    assert_int_equal(gpu.fill(0, worker.data, 0, 4, worker.stream), 0);
    assert_int_equal(finish(0, worker.stream), 0);
}

/// Queries and failures in every order.
void a_stream_that_is_done_tells_what_failed_on_it(void **) {
    const mdist_gpu_api &gpu = fake().gpu;
    Worker worker(0, 1);
    mdist_gpu_event *event = nullptr;
    assert_int_equal(gpu.event_create(0, 0, &event), 0);
    for (int round = 0; round < 500; ++round, fake().controls.reset()) {
        fake().controls.plan("job@1");
        assert_int_equal(gpu.fill(0, worker.data, 0, 4, worker.stream), 0);
        const auto ask = [&] {
            return round % 2 == 0 ? gpu.stream_query(0, worker.stream) : gpu.event_query(0, event);
        };
        if (round % 2 != 0 && gpu.kind(gpu.event_record(0, event, worker.stream)) != MDIST_GPU_OK)
            continue; // it failed before it was asked
        int error = ask();
        while (gpu.kind(error) == MDIST_GPU_NOT_READY) error = ask();
        assert_int_equal(gpu.kind(error), MDIST_GPU_FATAL);
    }
    assert_int_equal(gpu.event_destroy(0, event), 0);
}

/// As on a card: whoever sees an event recorded last also sees the stream done.
void a_stream_is_done_with_its_last_event(void **) {
    const mdist_gpu_api &gpu = fake().gpu;
    Worker worker(0, 1);
    mdist_gpu_event *event = nullptr;
    assert_int_equal(gpu.event_create(0, 0, &event), 0);
    for (int round = 0; round < 2000; ++round) {
        assert_int_equal(gpu.event_record(0, event, worker.stream), 0);
        while (gpu.event_query(0, event) != 0) std::this_thread::yield();
        assert_int_equal(gpu.stream_query(0, worker.stream), 0);
    }
    assert_int_equal(gpu.event_destroy(0, event), 0);
}

void faults_come_with_the_call_they_were_planned_for(void **) {
    const mdist_gpu_api &gpu = fake().gpu;
    Worker worker(0, 1);
    const auto fill = [&] { return gpu.kind(gpu.fill(0, worker.data, 0, 4, worker.stream)); };
    assert_int_equal(fake().controls.plan("fill@2:invalid"), 1);
    assert_int_equal(fake().controls.plan("fill@4+"), 1);
    const int wanted[] = {MDIST_GPU_OK, MDIST_GPU_INVALID, MDIST_GPU_OK, MDIST_GPU_FAILED, MDIST_GPU_FAILED};
    for (const int kind : wanted) assert_int_equal(fill(), kind);
    fake().controls.reset();
    assert_int_equal(fill(), MDIST_GPU_OK);
    assert_int_equal(fake().controls.plan("fill@1:fatal"), 1);
    assert_int_equal(fill(), MDIST_GPU_FATAL);
    assert_int_equal(fill(), MDIST_GPU_FATAL);
    fake().controls.reset();
    for (const char *bad : {"fill", "fill@0", "fill@1:strange"}) assert_int_equal(fake().controls.plan(bad), 0);
    assert_int_equal(finish(0, worker.stream), 0);
}

void what_hangs_does_so_until_it_is_let_go(void **) {
    const mdist_gpu_api &gpu = fake().gpu;
    Worker worker(0, 1);
    fake().controls.plan("fill@1:hang");
    assert_int_equal(gpu.fill(0, worker.data, 0, 4, worker.stream), 0);
    Worker other(0, 1); // what its stream is given now is done, and the first one still hangs
    const float one = 1;
    for (int round = 0; round < 20; ++round) other.put(&one);
    assert_int_equal(gpu.kind(gpu.stream_query(0, worker.stream)), MDIST_GPU_NOT_READY);
    fake().controls.reset();
    assert_int_equal(finish(0, worker.stream), 0);
}

void what_is_recorded_is_done_when_it_is_launched(void **) {
    const mdist_gpu_api &gpu = fake().gpu;
    Worker first(0, 1);
    Worker second(0, 1);
    mdist_gpu_event *event = nullptr;
    void *graph = nullptr;
    const float one = 1;
    float value = 0;
    first.put(&one);
    assert_int_equal(gpu.event_create(0, 0, &event), 0);
    assert_int_equal(gpu.capture_begin(0, first.stream), 0);
    assert_int_equal(gpu.event_record(0, event, first.stream), 0);
    assert_int_equal(gpu.stream_wait(0, second.stream, event), 0);
    assert_int_equal(add(0, first.data, first.data, 1, second.stream), 0);
    assert_int_equal(gpu.event_record(0, event, second.stream), 0);
    assert_int_equal(gpu.stream_wait(0, first.stream, event), 0);
    assert_int_equal(gpu.capture_end(0, first.stream, &graph), 0);
    first.get(&value);
    assert_true(value == 1);
    for (int i = 0; i < 3; ++i) assert_int_equal(gpu.graph_launch(0, graph, first.stream), 0);
    first.get(&value);
    assert_true(value == 8);
    assert_int_equal(gpu.graph_destroy(graph), 0);
    assert_int_equal(gpu.event_destroy(0, event), 0);
    assert_int_equal(problem_count(), 0);
}

void streams_that_do_not_wait_are_recorded_without_order(void **) {
    const mdist_gpu_api &gpu = fake().gpu;
    Worker first(0, 2);
    Worker second(0, 2);
    mdist_gpu_event *event = nullptr;
    void *graph = nullptr;
    const float begin[] = {1, 2};
    float values[2];
    int seen[2] = {0, 0};
    assert_int_equal(gpu.event_create(0, 0, &event), 0);
    second.put(begin);
    assert_int_equal(gpu.capture_begin(0, first.stream), 0);
    assert_int_equal(gpu.event_record(0, event, first.stream), 0);
    assert_int_equal(gpu.stream_wait(0, second.stream, event), 0);
    assert_int_equal(gpu.copy(0, first.data, second.data, 4, first.stream), 0);
    assert_int_equal(gpu.copy(0, first.data, second.data + 1, 4, second.stream), 0); // nothing orders the two
    assert_int_equal(gpu.event_record(0, event, second.stream), 0);
    assert_int_equal(gpu.stream_wait(0, first.stream, event), 0);
    assert_int_equal(gpu.copy(0, first.data + 1, first.data, 4, first.stream), 0); // after both
    assert_int_equal(gpu.capture_end(0, first.stream, &graph), 0);
    for (int i = 0; i < 64; ++i) {
        assert_int_equal(gpu.graph_launch(0, graph, first.stream), 0);
        first.get(values);
        assert_true(values[0] == values[1]);
        ++seen[values[0] == 2];
    }
    assert_true(seen[0] != 0 && seen[1] != 0);
    assert_int_equal(gpu.graph_destroy(graph), 0);
    assert_int_equal(gpu.event_destroy(0, event), 0);
    assert_int_equal(problem_count(), 0);
}

void page_locked_memory_that_a_copy_has_yet_to_use_is_not_released(void **) {
    const mdist_gpu_api &gpu = fake().gpu;
    Worker worker(0, 1);
    for (const bool waits : {true, false}) {
        void *memory = nullptr;
        assert_int_equal(gpu.allocate_pinned(4, &memory), 0);
        assert_int_equal(gpu.spin(0, 20000, worker.stream), 0);
        assert_int_equal(gpu.copy(0, memory, worker.data, 4, worker.stream), 0);
        if (waits) assert_int_equal(finish(0, worker.stream), 0);
        assert_int_equal(gpu.release_pinned(memory), 0);
        assert_int_equal(fake().controls.problems(nullptr, 0), waits ? 0 : 1);
    }
    fake().controls.reset();
}

void what_may_not_be_in_a_recording_spoils_it(void **) {
    const mdist_gpu_api &gpu = fake().gpu;
    Worker first(0, 1);
    Worker second(0, 1);
    mdist_gpu_event *before = nullptr;
    mdist_gpu_event *within = nullptr;
    for (mdist_gpu_event **event : {&before, &within}) assert_int_equal(gpu.event_create(0, 0, event), 0);
    assert_int_equal(gpu.event_record(0, before, second.stream), 0);
    const auto record = [&](auto &&body) {
        void *graph = nullptr;
        assert_int_equal(gpu.capture_begin(0, first.stream), 0);
        assert_int_equal(gpu.event_record(0, within, first.stream), 0);
        body();
        const int error = gpu.capture_end(0, first.stream, &graph);
        assert_null(graph);
        return error;
    };
    assert_int_equal(record([&] { assert_int_equal(gpu.stream_query(0, first.stream), 900); }), 901);
    assert_int_equal(record([&] { assert_int_equal(gpu.event_query(0, within), 907); }), 901);
    assert_int_equal(record([&] { assert_int_equal(gpu.stream_wait(0, first.stream, before), 905); }), 901);
    assert_int_equal(record([&] { assert_int_equal(gpu.stream_wait(0, second.stream, within), 0); }), 904);
    assert_int_equal(gpu.stream_wait(0, second.stream, within), 907);
    assert_int_equal(gpu.fill(0, first.data, 0, 4, first.stream), 0); // and goes on
    assert_int_equal(finish(0, first.stream), 0);
    for (mdist_gpu_event *event : {before, within}) assert_int_equal(gpu.event_destroy(0, event), 0);
    fake().controls.reset();
}

void memory_that_is_out_of_reach_is_an_illegal_address(void **) {
    const mdist_gpu_api &gpu = fake().gpu;
    Worker worker(0, 1);
    Worker other(1, 1);
    int32_t can = 7;
    assert_int_equal(gpu.can_reach(0, 1, &can), 0);
    assert_int_equal(can, 0);
    assert_int_equal(gpu.can_reach(0, 0, &can), 0);
    assert_int_equal(can, 1);
    assert_int_equal(gpu.copy(0, worker.data, other.data, 4, worker.stream), 0); // copies need no access
    assert_int_equal(finish(0, worker.stream), 0);
    assert_int_equal(gpu.fill(0, other.data, 0, 4, worker.stream), 0);
    assert_int_equal(gpu.kind(finish(0, worker.stream)), MDIST_GPU_FATAL);
    fake().controls.reset();
}

} // namespace

int main() {
    setenv("MDIST_FAKE_GPU", "devices=2,delay_us=30,reach=0", 1);
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_keeps_its_order),
        cmocka_unit_test(streams_wait_for_events),
        cmocka_unit_test(an_event_outlives_its_handle_on_streams),
        cmocka_unit_test(timed_events_say_how_long_it_was),
        cmocka_unit_test(release_waits_for_the_streams),
        cmocka_unit_test(a_destroyed_stream_does_what_it_was_given),
        cmocka_unit_test(kernels_compute_what_the_cpu_does),
        cmocka_unit_test(errors_of_jobs_are_for_good),
        cmocka_unit_test(a_stream_that_is_done_tells_what_failed_on_it),
        cmocka_unit_test(a_stream_is_done_with_its_last_event),
        cmocka_unit_test(faults_come_with_the_call_they_were_planned_for),
        cmocka_unit_test(what_hangs_does_so_until_it_is_let_go),
        cmocka_unit_test(what_is_recorded_is_done_when_it_is_launched),
        cmocka_unit_test(streams_that_do_not_wait_are_recorded_without_order),
        cmocka_unit_test(page_locked_memory_that_a_copy_has_yet_to_use_is_not_released),
        cmocka_unit_test(what_may_not_be_in_a_recording_spoils_it),
        cmocka_unit_test(memory_that_is_out_of_reach_is_an_illegal_address),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// SPDX-License-Identifier: Apache-2.0
// Guarded memory of simulated GPUs: accesses by the host, accesses of kernels outside of their block, leaks.
#include "fake_test.h"

#include <sys/wait.h>

#include <csignal>

namespace {

using namespace fake_gpu;

/// Runs this in a child process. Returns the signal that ended it; 0 if none did.
template <typename Body>
int signal_of(const Body &body) {
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); // a sanitizer's handler would report it instead
        body();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/// Waits until GPU 0 has done this, and returns its error. Afterwards the GPU works again.
template <typename Give>
int outcome_of(Worker &worker, const Give &give) {
    assert_int_equal(give(worker.stream), 0);
    const int error = finish(worker.device, worker.stream);
    fake().controls.reset();
    return error;
}

void the_host_cannot_touch_it(void **) {
    Worker worker(0, 100);
    volatile float *data = worker.data;
    assert_int_equal(signal_of([&] { data[0] = 1; }), SIGSEGV);
    assert_int_equal(signal_of([&] { (void)data[99]; }), SIGSEGV);
    volatile auto *behind = static_cast<volatile float *>(fake().controls.behind(worker.data, 400));
    assert_int_equal(signal_of([&] { behind[0] = behind[99]; }), 0);
    fake().gpu.release(0, worker.data);
    assert_int_equal(signal_of([&] { data[0] = 1; }), SIGSEGV);
    void *other = nullptr;
    assert_int_equal(fake().gpu.allocate(0, 400, &other), 0);
    worker.data = static_cast<float *>(other); // its owner has released it
}

void what_is_new_is_undefined(void **) {
    Worker worker(0, 100);
    unsigned char bytes[400] = {};
    worker.get(reinterpret_cast<float *>(bytes));
    for (const unsigned char byte : bytes) assert_int_equal(byte, 0xCD);
}

void kernels_stay_in_their_blocks(void **) {
    Worker worker(0, 100);
    const mdist_gpu_api &gpu = fake().gpu;
    const auto fill = [&](void *at, size_t bytes) {
        return outcome_of(worker, [&](mdist_gpu_stream *stream) { return gpu.fill(0, at, 0, bytes, stream); });
    };
    assert_int_equal(fill(worker.data, 400), 0);
    assert_int_equal(fill(worker.data + 50, 200), 0);
    assert_int_equal(fill(worker.data + 100, 0), 0);
    assert_int_equal(gpu.kind(fill(worker.data, 401)), MDIST_GPU_FATAL);
    assert_int_equal(gpu.kind(fill(worker.data + 50, 204)), MDIST_GPU_FATAL);
    float host = 7;
    assert_int_equal(gpu.kind(fill(&host, sizeof host)), MDIST_GPU_FATAL);
    assert_int_equal(gpu.kind(fill(nullptr, 4)), MDIST_GPU_FATAL);
    assert_true(host == 7);
    void *released = nullptr;
    assert_int_equal(gpu.allocate(0, 400, &released), 0);
    assert_int_equal(gpu.release(0, released), 0);
    assert_int_equal(gpu.kind(fill(released, 4)), MDIST_GPU_FATAL);
}

void page_locked_memory_is_for_both(void **) {
    Worker worker(0, 1);
    void *pinned = nullptr;
    assert_int_equal(fake().gpu.allocate_pinned(64, &pinned), 0);
    static_cast<float *>(pinned)[0] = 3;
    int32_t kind = -1;
    int32_t device = 5;
    assert_int_equal(fake().gpu.memory_kind(pinned, &kind, &device), 0);
    assert_int_equal(kind, MDIST_GPU_MEMORY_PINNED);
    assert_int_equal(fake().gpu.memory_kind(worker.data, &kind, &device), 0);
    assert_int_equal(kind, MDIST_GPU_MEMORY_DEVICE);
    assert_int_equal(device, 0);
    assert_int_equal(fake().gpu.memory_kind(&worker, &kind, &device), 0);
    assert_int_equal(kind, MDIST_GPU_MEMORY_HOST);
    assert_int_equal(add(0, pinned, pinned, 1, worker.stream), 0);
    assert_int_equal(finish(0, worker.stream), 0);
    assert_true(static_cast<float *>(pinned)[0] == 6);
    assert_int_equal(fake().gpu.release_pinned(pinned), 0);
    assert_int_equal(problem_count(), 0);
}

void what_is_written_beside_a_block_is_told(void **) {
    void *pinned = nullptr;
    assert_int_equal(fake().gpu.allocate_pinned(10, &pinned), 0);
    static_cast<volatile char *>(pinned)[10] = 1;
    assert_int_equal(fake().gpu.release_pinned(pinned), 0);
    assert_int_equal(fake().controls.problems(nullptr, 0), 1);
    fake().controls.reset();
}

void what_is_released_twice_is_told(void **) {
    void *memory = nullptr;
    assert_int_equal(fake().gpu.allocate(1, 10, &memory), 0);
    assert_int_equal(fake().gpu.kind(fake().gpu.release(0, memory)), MDIST_GPU_INVALID); // of another GPU
    assert_int_equal(fake().gpu.release(1, memory), 0);
    assert_int_equal(fake().gpu.kind(fake().gpu.release(1, memory)), MDIST_GPU_INVALID);
    assert_int_equal(fake().controls.problems(nullptr, 0), 2);
    fake().controls.reset();
}

void memory_runs_out(void **) {
    const mdist_gpu_api &gpu = fake().gpu;
    uint64_t room = 0;
    uint64_t total = 0;
    void *memory = nullptr;
    assert_int_equal(gpu.memory_info(0, &room, &total), 0);
    assert_int_equal(total, 16 << 20);
    assert_int_equal(room, total);
    assert_int_equal(gpu.kind(gpu.allocate(0, total + 1, &memory)), MDIST_GPU_OUT_OF_MEMORY);
    assert_null(memory);
    assert_int_equal(gpu.allocate(0, total, &memory), 0);
    assert_int_equal(gpu.memory_info(0, &room, &total), 0);
    assert_int_equal(room, 0);
    assert_int_equal(gpu.release(0, memory), 0);
    fake().controls.plan("allocate@2");
    assert_int_equal(gpu.allocate(0, 1, &memory), 0);
    void *second = nullptr;
    assert_int_equal(gpu.kind(gpu.allocate(0, 1, &second)), MDIST_GPU_OUT_OF_MEMORY);
    assert_int_equal(gpu.release(0, memory), 0);
    fake().controls.reset();
}

void reservations_grow_and_do_not_move(void **) {
    const mdist_gpu_api &gpu = fake().gpu;
    Worker worker(0, 1);
    size_t step = 0;
    void *base = nullptr;
    assert_int_equal(gpu.reservation_granularity(0, &step), 0);
    assert_int_equal(gpu.reserve(0, 64 * step, &base), 0);
    auto *bytes = static_cast<char *>(base);
    assert_int_equal(gpu.commit(0, base, 2 * step), 0);
    assert_int_equal(gpu.fill(0, base, 1, 2 * step, worker.stream), 0);
    assert_int_equal(gpu.commit(0, bytes + 2 * step, step), 0);
    assert_int_equal(gpu.fill(0, bytes + 2 * step, 2, step, worker.stream), 0);
    assert_int_equal(finish(0, worker.stream), 0);
    char ends[2] = {};
    assert_int_equal(gpu.copy(0, &ends[0], base, 1, worker.stream), 0);
    assert_int_equal(gpu.copy(0, &ends[1], bytes + 3 * step - 1, 1, worker.stream), 0);
    assert_int_equal(finish(0, worker.stream), 0);
    assert_int_equal(ends[0], 1);
    assert_int_equal(ends[1], 2);
    assert_int_equal(
        gpu.kind(
            outcome_of(worker, [&](mdist_gpu_stream *stream) { return gpu.fill(0, bytes + 3 * step, 0, 1, stream); })),
        MDIST_GPU_FATAL);
    assert_int_equal(gpu.kind(gpu.commit(0, bytes + 3 * step, 64 * step)), MDIST_GPU_INVALID);
    fake().controls.reset();
    assert_int_equal(gpu.unreserve(0, base, 64 * step, 3 * step), 0);
    assert_int_equal(problem_count(), 0);
}

void other_gpus_are_reached_once_the_module_was_asked(void **) {
    const mdist_gpu_api &gpu = fake().gpu;
    Worker worker(0, 1);
    const Worker near(1, 1);
    const Worker far(4, 1);
    const auto fills = [&](void *memory) {
        return gpu.kind(
            outcome_of(worker, [&](mdist_gpu_stream *stream) { return gpu.fill(0, memory, 0, 4, stream); }));
    };
    int32_t can = 7;
    assert_int_equal(fills(near.data), MDIST_GPU_FATAL);
    assert_int_equal(gpu.can_reach(0, 1, &can), 0);
    assert_int_equal(can, 1);
    assert_int_equal(fills(near.data), MDIST_GPU_OK);
    assert_int_equal(gpu.can_reach(0, 4, &can), 0); // of the other four
    assert_int_equal(can, 0);
    assert_int_equal(fills(far.data), MDIST_GPU_FATAL);
    size_t step = 0;
    void *base = nullptr;
    assert_int_equal(gpu.reservation_granularity(3, &step), 0);
    assert_int_equal(gpu.reserve(3, step, &base), 0);
    assert_int_equal(gpu.commit(3, base, step), 0); // for all GPUs in reach
    assert_int_equal(fills(base), MDIST_GPU_OK);
    assert_int_equal(gpu.unreserve(3, base, step, step), 0);
    assert_int_equal(problem_count(), 0);
}

void everything_is_counted(void **) {
    fake_gpu_live before;
    fake_gpu_live now;
    fake().controls.live(&before);
    {
        const Worker worker(1, 10);
        fake().controls.live(&now);
        assert_int_equal(now.blocks, before.blocks + 1);
        assert_int_equal(now.bytes, before.bytes + 40);
        assert_int_equal(now.streams, before.streams + 1);
    }
    fake().controls.live(&now);
    assert_memory_equal(&now, &before, sizeof now);
}

} // namespace

int main() {
    setenv("MDIST_FAKE_GPU", "devices=6,reach=fours,memory_mb=16", 1);
    const CMUnitTest tests[] = {
        cmocka_unit_test(the_host_cannot_touch_it),
        cmocka_unit_test(what_is_new_is_undefined),
        cmocka_unit_test(kernels_stay_in_their_blocks),
        cmocka_unit_test(page_locked_memory_is_for_both),
        cmocka_unit_test(what_is_written_beside_a_block_is_told),
        cmocka_unit_test(what_is_released_twice_is_told),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(reservations_grow_and_do_not_move),
        cmocka_unit_test(other_gpus_are_reached_once_the_module_was_asked),
        cmocka_unit_test(everything_is_counted),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

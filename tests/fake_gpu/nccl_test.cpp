// SPDX-License-Identifier: Apache-2.0
// The simulated NCCL, in one process and in several.
#include "fake_test.h"

#include <sys/wait.h>

namespace {

using namespace fake_gpu;

/// Waits until a communicator is ready. Returns 0 or its error.
int wait_for(mdist_gpu_comm *comm) {
    for (;;) {
        int error = 0;
        if (nccl().async_error(comm, &error) != 0) return -2;
        if (nccl().kind(error) != MDIST_GPU_NOT_READY) return error;
        nap();
    }
}

using Id = std::array<unsigned char, MDIST_GPU_ID_BYTES>;

Id new_id() {
    Id id;
    assert_int_equal(nccl().unique_id(id.data()), 0);
    return id;
}

/// Ranks of one process, each with a GPU.
struct Ranks {
    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<mdist_gpu_comm *> comms;

    Ranks(int32_t ranks, size_t floats) : comms(static_cast<size_t>(ranks)) {
        const Id id = new_id();
        for (int32_t rank = 0; rank < ranks; ++rank) {
            workers.push_back(std::make_unique<Worker>(rank, floats));
            const int error = nccl().init(&comms[static_cast<size_t>(rank)], rank, ranks, rank, id.data());
            assert_int_equal(nccl().kind(error), MDIST_GPU_NOT_READY);
        }
        for (mdist_gpu_comm *comm : comms) assert_int_equal(wait_for(comm), 0);
    }
    ~Ranks() {
        for (mdist_gpu_comm *comm : comms) nccl().abort(comm);
    }
    int settle() {
        int first = 0;
        for (mdist_gpu_comm *comm : comms)
            if (const int error = wait_for(comm); first == 0) first = error;
        return first;
    }
};

void sums_in_one_process(void **) {
    constexpr size_t kCount = 200001;
    Ranks ranks(3, kCount);
    for (size_t r = 0; r < 3; ++r) ranks.workers[r]->put(std::vector<float>(kCount, float(r + 1)).data());
    assert_int_equal(nccl().group_start(), 0);
    for (size_t r = 0; r < 3; ++r) {
        Worker &worker = *ranks.workers[r];
        assert_int_equal(
            nccl().all_reduce(ranks.comms[r], worker.data, worker.data, kCount, MDIST_FLOAT32, 1, worker.stream), 0);
    }
    assert_int_equal(nccl().kind(nccl().group_end()), MDIST_GPU_NOT_READY);
    assert_int_equal(ranks.settle(), 0);
    for (const auto &worker : ranks.workers) {
        std::vector<float> got(kCount);
        worker->get(got.data());
        for (const float value : got) assert_true(value == 6);
    }
    for (mdist_gpu_comm *&comm : ranks.comms) {
        assert_int_equal(nccl().kind(nccl().finalize(comm)), MDIST_GPU_NOT_READY);
        assert_int_equal(wait_for(comm), 0);
        assert_int_equal(nccl().destroy(comm), 0);
    }
    ranks.comms.clear();
    assert_int_equal(problem_count(), 0);
}

void does_nothing_until_it_is_asked(void **) {
    Ranks ranks(1, 1);
    Worker &worker = *ranks.workers[0];
    const float one = 1;
    const float two = 2;
    float got = 0;
    worker.put(&one);
    mdist_gpu_stream *stream = worker.stream;
    void *other = nullptr;
    assert_int_equal(fake().gpu.allocate(0, sizeof one, &other), 0);
    assert_int_equal(fake().gpu.copy(0, other, &two, sizeof two, stream), 0);
    assert_int_equal(nccl().kind(nccl().all_reduce(ranks.comms[0], worker.data, other, 1, MDIST_FLOAT32, 1, stream)),
                     MDIST_GPU_NOT_READY);
    assert_int_equal(fake().gpu.copy(0, &got, other, sizeof got, stream), 0);
    assert_int_equal(finish(0, stream), 0);
    assert_true(got == 2); // the copy ran first, since nobody had polled
    assert_int_equal(wait_for(ranks.comms[0]), 0);
    assert_int_equal(fake().gpu.copy(0, &got, other, sizeof got, stream), 0);
    assert_int_equal(finish(0, stream), 0);
    assert_true(got == 1);
    fake().gpu.release(0, other);
    assert_int_equal(problem_count(), 0);
}

void moves_what_every_collective_should(void **) {
    Ranks ranks(2, 4);
    const float in[2][4] = {{1, 2, 3, 4}, {10, 20, 30, 40}};
    const auto run = [&](auto call, float(&out)[2][4]) {
        for (size_t r = 0; r < 2; ++r) ranks.workers[r]->put(in[r]);
        nccl().group_start();
        for (size_t r = 0; r < 2; ++r) assert_int_equal(call(ranks.comms[r], *ranks.workers[r], int32_t(r)), 0);
        nccl().group_end();
        assert_int_equal(ranks.settle(), 0);
        for (size_t r = 0; r < 2; ++r) ranks.workers[r]->get(out[r]);
    };
    const auto expect = [](const float(&got)[2][4], std::array<float, 8> wanted) {
        for (size_t i = 0; i < 8; ++i) assert_true(got[i / 4][i % 4] == wanted[i]);
    };
    float out[2][4];
    run([](mdist_gpu_comm *c, Worker &w,
           int32_t) { return nccl().reduce(c, w.data, w.data, 4, MDIST_FLOAT32, 4, 1, w.stream); },
        out);
    expect(out, {1, 2, 3, 4, 10, 20, 30, 40}); // MAX on rank 1
    run([](mdist_gpu_comm *c, Worker &w,
           int32_t) { return nccl().broadcast(c, w.data, w.data, 3, MDIST_FLOAT32, 1, w.stream); },
        out);
    expect(out, {10, 20, 30, 4, 10, 20, 30, 40});
    run([](mdist_gpu_comm *c, Worker &w,
           int32_t rank) { return nccl().all_gather(c, w.data + 2 * rank, w.data, 2, MDIST_FLOAT32, w.stream); },
        out);
    expect(out, {1, 2, 30, 40, 1, 2, 30, 40});
    run([](mdist_gpu_comm *c, Worker &w,
           int32_t rank) { return nccl().reduce_scatter(c, w.data, w.data + 2 * rank, 2, MDIST_FLOAT32, 1, w.stream); },
        out);
    expect(out, {11, 22, 3, 4, 10, 20, 33, 44});
    run(
        [](mdist_gpu_comm *c, Worker &w, int32_t rank) {
            const int sent = nccl().send(c, w.data, 2, MDIST_FLOAT32, 1 - rank, w.stream);
            return sent != 0 ? sent : nccl().receive(c, w.data + 2, 2, MDIST_FLOAT32, 1 - rank, w.stream);
        },
        out);
    expect(out, {1, 2, 10, 20, 10, 20, 1, 2});
    assert_int_equal(problem_count(), 0);
}

/// A rank in a process of its own. The result is the exit status.
int rank_of_process(const Id &id, int32_t ranks, int32_t rank) {
    constexpr size_t kCount = 100000;
    Worker worker(rank % 2, kCount);
    mdist_gpu_comm *comm = nullptr;
    if (nccl().kind(nccl().init(&comm, rank % 2, ranks, rank, id.data())) != MDIST_GPU_NOT_READY) return 1;
    if (wait_for(comm) != 0) return 2;
    std::vector<float> values(kCount, float(rank + 1));
    worker.put(values.data());
    for (int turn = 0; turn < 3; ++turn) {
        nccl().all_reduce(comm, worker.data, worker.data, kCount, MDIST_FLOAT32, 1, worker.stream);
        if (wait_for(comm) != 0 || finish(rank % 2, worker.stream) != 0) return 3;
    }
    worker.get(values.data());
    const float sum = float(ranks * (ranks + 1) / 2 * ranks * ranks);
    for (const float value : values)
        if (value != sum) return 4;
    nccl().finalize(comm);
    if (wait_for(comm) != 0 || nccl().destroy(comm) != 0) return 5;
    return problem_count() == 0 ? 0 : 6;
}

/// Forks one process per rank, before this process has any thread.
void sums_over(int32_t ranks) {
    const Id id = new_id();
    std::vector<pid_t> children;
    for (int32_t rank = 0; rank < ranks; ++rank) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) _exit(rank_of_process(id, ranks, rank));
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    assert_int_not_equal(access(reinterpret_cast<const char *>(id.data()), F_OK), 0); // nothing is left
}
void sums_over_two_processes(void **) {
    sums_over(2);
}
void sums_over_three_processes(void **) {
    sums_over(3);
}

void ranks_that_differ_are_told(void **) {
    Ranks ranks(2, 4);
    for (size_t r = 0; r < 2; ++r) {
        Worker &worker = *ranks.workers[r];
        nccl().all_reduce(ranks.comms[r], worker.data, worker.data, 3 + r, MDIST_FLOAT32, 1, worker.stream);
    }
    assert_int_equal(ranks.settle(), 0); // it has begun
    for (size_t r = 0; r < 2; ++r) finish(int32_t(r), ranks.workers[r]->stream);
    assert_int_not_equal(ranks.settle(), 0);
    assert_int_not_equal(fake().controls.problems(nullptr, 0), 0);
    fake().controls.reset();
}

void hangs_until_it_is_aborted(void **) {
    Ranks ranks(2, 4);
    Worker &worker = *ranks.workers[0];
    nccl().all_reduce(ranks.comms[0], worker.data, worker.data, 4, MDIST_FLOAT32, 1, worker.stream);
    assert_int_equal(wait_for(ranks.comms[0]), 0);
    Worker other(0, 1); // what its stream is given now is done, and the collective still hangs
    const float one = 1;
    for (int round = 0; round < 20; ++round) other.put(&one);
    assert_int_equal(fake().gpu.kind(fake().gpu.stream_query(0, worker.stream)), MDIST_GPU_NOT_READY);
    assert_int_equal(nccl().abort(ranks.comms[0]), 0);
    assert_int_equal(finish(0, worker.stream), 0);
    ranks.comms.erase(ranks.comms.begin());
    assert_int_equal(problem_count(), 0);
}

void refuses_one_gpu_for_two_ranks(void **) {
    const Id id = new_id();
    mdist_gpu_comm *comms[2] = {};
    for (int32_t rank = 0; rank < 2; ++rank) nccl().init(&comms[rank], 0, 2, rank, id.data());
    for (mdist_gpu_comm *comm : comms) {
        assert_int_not_equal(wait_for(comm), 0);
        nccl().abort(comm);
    }
    fake().controls.reset();
}

void errors_come_when_they_are_asked_for(void **) {
    Ranks ranks(2, 4);
    Worker &worker = *ranks.workers[0];
    fake().controls.plan("nccl_all_reduce@1");
    const int error = nccl().all_reduce(ranks.comms[0], worker.data, worker.data, 4, MDIST_FLOAT32, 1, worker.stream);
    assert_int_equal(nccl().kind(error), MDIST_GPU_FAILED);
    assert_int_equal(wait_for(ranks.comms[0]), error);
    fake().controls.plan("nccl_async_error@1");
    assert_int_not_equal(wait_for(ranks.comms[1]), 0);
    fake().controls.reset();
}

void a_call_before_the_last_is_over_is_refused(void **) {
    Ranks ranks(1, 4);
    Worker &worker = *ranks.workers[0];
    nccl().all_reduce(ranks.comms[0], worker.data, worker.data, 4, MDIST_FLOAT32, 1, worker.stream);
    assert_int_equal(
        nccl().kind(nccl().all_reduce(ranks.comms[0], worker.data, worker.data, 4, MDIST_FLOAT32, 1, worker.stream)),
        MDIST_GPU_INVALID);
    assert_int_not_equal(fake().controls.problems(nullptr, 0), 0);
    fake().controls.reset();
}

} // namespace

int main() {
    setenv("MDIST_FAKE_GPU", "devices=3,delay_us=20", 1);
    const CMUnitTest tests[] = {
        cmocka_unit_test(sums_over_two_processes),
        cmocka_unit_test(sums_over_three_processes),
        cmocka_unit_test(sums_in_one_process),
        cmocka_unit_test(does_nothing_until_it_is_asked),
        cmocka_unit_test(moves_what_every_collective_should),
        cmocka_unit_test(ranks_that_differ_are_told),
        cmocka_unit_test(hangs_until_it_is_aborted),
        cmocka_unit_test(refuses_one_gpu_for_two_ranks),
        cmocka_unit_test(errors_come_when_they_are_asked_for),
        cmocka_unit_test(a_call_before_the_last_is_over_is_refused),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

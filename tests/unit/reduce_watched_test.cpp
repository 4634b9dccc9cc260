// SPDX-License-Identifier: Apache-2.0
// Kernels are compiled without sanitizers. What they read and write is watched all the same: a sanitizer ends the child
// process that reduces memory it may not touch. Without a sanitizer there is nothing to test.
#include "reduce/reduce.h"
#include "subject.h"
#include "util/sanitized.h"

#include <mdist/tensor.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "mdist_test.h"

namespace {

using namespace mdist::reduce;

constexpr std::size_t kElements = 4096; // many steps of every kernel

void add_up(const float *first, const float *second, float *to, std::size_t elements) {
    const void *const sources[] = {first, second};
    void *destination = to;
    reduce({MDIST_FLOAT32, Op::kSum, 2}, sources, 2, &destination, 1, elements);
}

/// Whether a process that does this ends as it should. What the sanitizer says is not shown.
template <class Work>
bool lives(Work work) {
    std::fflush(nullptr);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(3);
        work();
        std::exit(0); // where the sanitizer has its last word
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::unique_ptr<float[]> ones(std::size_t elements) {
    auto memory = std::make_unique<float[]>(elements);
    for (std::size_t i = 0; i < elements; ++i) memory[i] = 1;
    return memory;
}

void sound_reductions_are_left_alone(void **) {
    assert_true(lives([] {
        const auto a = ones(kElements), b = ones(kElements), to = ones(kElements);
        add_up(a.get(), b.get(), to.get(), kElements);
        if (to[kElements - 1] != 2 || sum_of_squares(MDIST_FLOAT32, to.get(), kElements) != 4.0 * kElements) _exit(1);
    }));
}

void reading_and_writing_past_the_end_is_seen(void **) {
    if (!MDIST_WATCHES_ADDRESSES) skip();
    const std::size_t step = 64; // a multiple of every kernel's, so that nothing is left for padded copies
    assert_false(lives([&] {
        const auto a = ones(kElements), b = ones(kElements - step), to = ones(kElements);
        add_up(a.get(), b.get(), to.get(), kElements);
    }));
    assert_false(lives([&] {
        const auto a = ones(kElements), b = ones(kElements), to = ones(kElements - step);
        add_up(a.get(), b.get(), to.get(), kElements);
    }));
    assert_false(lives([&] {
        const auto a = ones(kElements - step);
        sum_of_squares(MDIST_FLOAT32, a.get(), kElements);
    }));
}

void two_threads_that_write_the_same_are_seen(void **) {
    if (!MDIST_WATCHES_THREADS) skip();
    assert_false(lives([] {
        const auto a = ones(kElements), b = ones(kElements), to = ones(kElements);
        const auto add = [&] { add_up(a.get(), b.get(), to.get(), kElements); };
        std::thread one(add), other(add);
        one.join();
        other.join();
    }));
}

} // namespace

SUBJECT(reduce_watched) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(sound_reductions_are_left_alone),
        cmocka_unit_test(reading_and_writing_past_the_end_is_seen),
        cmocka_unit_test(two_threads_that_write_the_same_are_seen),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// SPDX-License-Identifier: Apache-2.0
// Map functions and the thread that prefetches them: failures in order, prompt ends, nothing left behind.
#include "data_support.h"
#include "subject.h"

#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace {

/// What a map function does with the element whose number is `at`; the others it copies.
struct Plan {
    enum Action { kReturn, kThrow, kThrowNumber, kExit, kWait } action = kReturn;
    int64_t at = -1;
    std::mutex mutex;
    std::condition_variable changed;
    bool waiting = false;
    bool open = false;
    std::atomic<int> calls{0};
    sigset_t mask = {};
};

int32_t follow(const mdist_tensor_t *inputs, size_t, const mdist_tensor_t *outputs, size_t, void *user_data) {
    Plan &plan = *static_cast<Plan *>(user_data);
    ++plan.calls;
    pthread_sigmask(SIG_SETMASK, nullptr, &plan.mask);
    const int64_t number = *static_cast<int64_t *>(inputs[0].data);
    *static_cast<int64_t *>(outputs[0].data) = number;
    if (number != plan.at) return 0;
    switch (plan.action) {
        case Plan::kReturn:
            return -77;
        case Plan::kThrow:
            throw std::runtime_error("no such picture");
        case Plan::kThrowNumber:
            throw 5;
        case Plan::kExit:
            pthread_exit(nullptr);
        case Plan::kWait:
            break;
    }
    std::unique_lock lock(plan.mutex);
    plan.waiting = true;
    plan.changed.notify_all();
    plan.changed.wait(lock, [&] { return plan.open; });
    return 0;
}

std::shared_ptr<Dataset> mapped(std::shared_ptr<const Dataset> source, Plan &plan, std::shared_ptr<void> owner = {}) {
    const mdist_tensor_t out = output(MDIST_INT64, {});
    return make_map(std::move(source), follow, &plan, std::move(owner), &out, 1);
}

void failures_come_after_the_elements_before_them_and_stay(void **) {
    struct Case {
        Plan::Action action;
        const char *says;
        const char *reason;
        int64_t native;
    };
    const Case cases[] = {{Plan::kReturn, "returned -77", "map_returned", -77},
                          {Plan::kThrow, "no such picture", "map_threw", 0},
                          {Plan::kThrowNumber, "not a std::exception", "map_threw", 0}};
    for (const Case &one : cases)
        for (const bool ahead : {false, true}) {
            Plan plan;
            plan.action = one.action;
            plan.at = 3;
            auto dataset = mapped(numbers(10), plan);
            if (ahead) dataset = make_prefetch(dataset, 2);
            Iterator iterator(dataset);
            assert_int_equal(items(iterator, 3).size(), 3);
            for (int i = 0; i < 3; ++i) {
                const Failure failure = failure_of([&] { take_nothing(iterator); });
                assert_says(failure, MDIST_ERR_CALLBACK, one.says);
                assert_string_equal(failure.reason().c_str(), one.reason);
                assert_int_equal(failure.native(), one.native);
            }
            assert_int_equal(plan.calls, 4);
        }
}

void a_prefetching_thread_that_ends_in_the_function_is_a_failure(void **) {
    Plan plan;
    plan.action = Plan::kExit;
    plan.at = 3;
    Iterator iterator(make_prefetch(make_batch(mapped(numbers(10), plan), 2, false), 2));
    assert_int_equal(items(iterator, 1).size(), 1);
    for (int i = 0; i < 2; ++i) assert_says(failure_of([&] { take_nothing(iterator); }), MDIST_ERR_CALLBACK, "thread");
}

void a_calling_thread_may_end_in_the_function_and_the_iterator_says_so(void **) {
    Plan plan;
    plan.action = Plan::kExit;
    plan.at = 1;
    Iterator iterator(mapped(numbers(10), plan));
    bool returned = false;
    std::thread([&] {
        items(iterator);
        returned = true;
    }).join();
    assert_false(returned);
    assert_says(failure_of([&] { take_nothing(iterator); }), MDIST_ERR_CALLBACK, "thread");
}

void the_thread_starts_with_the_first_element_and_takes_no_signals(void **) {
    Plan plan;
    const auto dataset = make_prefetch(mapped(numbers(4), plan), 100);
    Iterator iterator(dataset);
    assert_int_equal(plan.calls, 0);
    assert_true(flat(items(iterator)) == flat(items(numbers(4))));
    assert_true(sigismember(&plan.mask, SIGTERM) && sigismember(&plan.mask, SIGINT));
    sigset_t own;
    pthread_sigmask(SIG_SETMASK, nullptr, &own);
    assert_false(sigismember(&own, SIGTERM));
}

void destruction_ends_threads_that_wait_for_room(void **) {
    for (int i = 0; i < 200; ++i) {
        Plan plan;
        const auto source = make_repeat(mapped(numbers(5), plan), MDIST_FOREVER);
        const auto dataset = make_prefetch(make_shuffle(make_prefetch(source, 3), 4, 1, true), 2);
        items(dataset, static_cast<std::size_t>(i) % 5);
    }
}

void destruction_waits_for_the_function_but_not_for_the_batch(void **) {
#ifdef _LIBCPP_VERSION
    skip(); // its condition_variable lets no thread be cancelled in a wait
#endif
    Plan plan;
    plan.action = Plan::kWait;
    plan.at = 2;
    // The batch wants far more elements than will ever be made.
    const auto dataset = make_prefetch(
        make_batch(make_prefetch(make_repeat(mapped(numbers(5), plan), MDIST_FOREVER), 1), MDIST_FOREVER, false), 1);
    auto iterator = std::make_shared<Iterator>(dataset);
    std::thread consumer([&] { take_nothing(*iterator); });
    {
        std::unique_lock lock(plan.mutex);
        plan.changed.wait(lock, [&] { return plan.waiting; });
    }
    Failure second = failure_of([&] { take_nothing(*iterator); });
    {
        const std::lock_guard lock(plan.mutex);
        plan.open = true;
        plan.at = -1;
        plan.changed.notify_all();
    }
    // The consumer waits for ever for its batch: end it from outside, as a program would that gives up.
    pthread_cancel(consumer.native_handle());
    consumer.join();
    iterator.reset();
    assert_says(second, MDIST_ERR_FAILED_PRECONDITION, "one call at a time");
}

void destruction_waits_for_nobody_where_all_is_released_by_itself(void **) {
    Plan plan;
    plan.action = Plan::kWait;
    plan.at = 1;
    std::mutex mutex;
    std::condition_variable changed;
    bool released = false;
    const auto release = [&](void *) {
        const std::lock_guard lock(mutex);
        released = true;
        changed.notify_all();
    };
    {
        auto dataset = mapped(numbers(5), plan, std::shared_ptr<void>(&plan, release));
        assert_false(dataset->borrows());
        Iterator iterator(make_prefetch(std::exchange(dataset, nullptr), 2));
        assert_true(take_nothing(iterator));
        std::unique_lock lock(plan.mutex);
        plan.changed.wait(lock, [&] { return plan.waiting; });
    } // with the lock, which the function needs to return
    assert_false(released);
    assert_false(wait_for_stragglers(0));
    {
        const std::lock_guard lock(plan.mutex);
        plan.open = true;
        plan.changed.notify_all();
    }
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return released; });
    assert_int_equal(plan.calls, 2);
    assert_true(wait_for_stragglers(MDIST_FOREVER));
}

void closing_waits_for_the_function(void **) {
    Plan plan;
    plan.action = Plan::kWait;
    plan.at = 1;
    Iterator iterator(make_prefetch(mapped(numbers(5), plan, std::make_shared<int>(0)), 2));
    assert_true(take_nothing(iterator));
    {
        std::unique_lock lock(plan.mutex);
        plan.changed.wait(lock, [&] { return plan.waiting; });
    }
    std::atomic<bool> opened{false};
    std::thread opener([&] {
        const std::lock_guard lock(plan.mutex);
        opened = true;
        plan.open = true;
        plan.changed.notify_all();
    });
    iterator.close();
    assert_true(opened);
    opener.join();
    iterator.close();
    assert_says(failure_of([&] { take_nothing(iterator); }), MDIST_ERR_FAILED_PRECONDITION, "was closed");
}

void what_nobody_releases_is_borrowed(void **) {
    Plan plan;
    float rows[2] = {};
    const mdist_tensor_t array = {rows, MDIST_FLOAT32, 1, 0, 0, {2}};
    const auto owned = std::shared_ptr<void>(rows, [](void *) {});
    assert_true(make_from_tensors(&array, 1, nullptr)->borrows());
    assert_false(make_prefetch(make_batch(make_from_tensors(&array, 1, owned), 2, false), 1)->borrows());
    assert_true(make_prefetch(mapped(numbers(2), plan), 1)->borrows());
}

/// Destroys the iterator it serves, which a map function must not do, when told that nobody else holds it.
struct Saboteur {
    std::mutex mutex;
    std::condition_variable changed;
    std::shared_ptr<Iterator> iterator; // given when the test has taken its one element
};

int32_t sabotage(const mdist_tensor_t *inputs, size_t, const mdist_tensor_t *outputs, size_t, void *user_data) {
    Saboteur &saboteur = *static_cast<Saboteur *>(user_data);
    *static_cast<int64_t *>(outputs[0].data) = 0;
    if (*static_cast<int64_t *>(inputs[0].data) == 0) return 0;
    std::unique_lock lock(saboteur.mutex);
    saboteur.changed.wait(lock, [&] { return saboteur.iterator != nullptr; });
    const std::shared_ptr<Iterator> last = std::move(saboteur.iterator);
    return 0;
}

void a_function_that_destroys_its_iterator_hangs_nobody(void **) {
    for (int i = 0; i < 50; ++i) {
        auto saboteur = std::make_shared<Saboteur>();
        const std::weak_ptr<Saboteur> watch = saboteur;
        Saboteur &shared = *saboteur;
        const mdist_tensor_t out = output(MDIST_INT64, {});
        auto dataset = make_map(numbers(3), sabotage, &shared, std::move(saboteur), &out, 1);
        if (i % 2 == 0) dataset = make_prefetch(dataset, 1);
        auto iterator = std::make_shared<Iterator>(make_prefetch(dataset, 1));
        dataset.reset();
        assert_true(take_nothing(*iterator));
        {
            const std::lock_guard lock(shared.mutex);
            shared.iterator = std::move(iterator);
            shared.changed.notify_all();
        }
        while (!watch.expired()) std::this_thread::yield(); // the thread lets go of it on its own
    }
}

void the_registration_lives_as_long_as_its_users(void **) {
    Plan plan;
    std::promise<void> released;
    auto owner = std::shared_ptr<void>(&plan, [&](void *) { released.set_value(); });
    const std::weak_ptr<void> watch = owner;
    auto dataset = mapped(numbers(5), plan, std::move(owner));
    auto iterator = std::make_unique<Iterator>(make_prefetch(dataset, 1));
    dataset.reset();
    items(*iterator, 2);
    assert_false(watch.expired());
    iterator.reset();
    released.get_future().wait(); // by the prefetching thread, when it is through
}

int32_t count_rows(const mdist_tensor_t *inputs, size_t, const mdist_tensor_t *outputs, size_t, void *) {
    for (uint64_t i = 0; i < outputs[0].shape[0]; ++i)
        static_cast<int64_t *>(outputs[0].data)[i] = static_cast<int64_t>(inputs[0].shape[0]);
    return 0;
}

void outputs_have_the_rows_of_the_input(void **) {
    const mdist_tensor_t out = output(MDIST_INT64, {MDIST_UNKNOWN_LENGTH});
    const auto dataset = make_map(make_batch(numbers(5), 3, false), count_rows, nullptr, nullptr, &out, 1);
    const std::vector<Item> expected = {{{3}, {3, 3, 3}}, {{2}, {2, 2}}};
    assert_true(items(dataset) == expected);
    const auto refused = [](std::vector<uint64_t> shape) {
        return failure_of([&] {
            const mdist_tensor_t bad = output(MDIST_INT64, shape);
            make_map(numbers(5), count_rows, nullptr, nullptr, &bad, 1);
        });
    };
    assert_says(refused({MDIST_UNKNOWN_LENGTH}), MDIST_ERR_INVALID_ARGUMENT, "scalar");
    assert_says(refused({2, MDIST_UNKNOWN_LENGTH}), MDIST_ERR_INVALID_ARGUMENT, "dimension 1");
    assert_says(refused({UINT64_MAX / 4, 4}), MDIST_ERR_INVALID_ARGUMENT, "larger than memory");
}

} // namespace

SUBJECT(data_prefetch) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(failures_come_after_the_elements_before_them_and_stay),
        cmocka_unit_test(a_prefetching_thread_that_ends_in_the_function_is_a_failure),
        cmocka_unit_test(a_calling_thread_may_end_in_the_function_and_the_iterator_says_so),
        cmocka_unit_test(the_thread_starts_with_the_first_element_and_takes_no_signals),
        cmocka_unit_test(destruction_ends_threads_that_wait_for_room),
        cmocka_unit_test(destruction_waits_for_the_function_but_not_for_the_batch),
        cmocka_unit_test(destruction_waits_for_nobody_where_all_is_released_by_itself),
        cmocka_unit_test(closing_waits_for_the_function),
        cmocka_unit_test(what_nobody_releases_is_borrowed),
        cmocka_unit_test(a_function_that_destroys_its_iterator_hangs_nobody),
        cmocka_unit_test(the_registration_lives_as_long_as_its_users),
        cmocka_unit_test(outputs_have_the_rows_of_the_input),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

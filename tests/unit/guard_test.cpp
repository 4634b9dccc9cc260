// SPDX-License-Identifier: Apache-2.0
// The guard: every way out of a body becomes a status, an error that says the same, or passes where it must.
#include "api/guard.h"

#include <atomic>
#include <climits>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csetjmp>

extern "C" {
#include <cmocka.h>
}

#include "api/check.h"
#include "api/error.h"
#include "subject.h"
#include "util/failure.h"

namespace {

using mdist::Failure;
using mdist::guard;

std::atomic<bool> memory_is_gone = false;

} // namespace

// Errors ask for memory by this form alone.
void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
    return memory_is_gone ? nullptr : std::malloc(size);
}

void operator delete(void *memory) noexcept {
    std::free(memory);
}

void operator delete(void *memory, std::size_t) noexcept {
    std::free(memory);
}

void *operator new(std::size_t size) {
    if (void *memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}

namespace {

void a_failure_arrives_with_all_its_fields(void **) {
    mdist_error_t *error = nullptr;
    const auto status = guard("mdist_prepared", &error, [] {
        throw Failure(MDIST_ERR_TIMEOUT, "replica 3 did not come").reason("late").replica(3).native(INT64_MIN);
    });
    assert_int_equal(status, MDIST_ERR_TIMEOUT);
    assert_int_equal(mdist_error_status(error), MDIST_ERR_TIMEOUT);
    assert_string_equal(mdist_error_message(error), "replica 3 did not come");
    assert_string_equal(mdist_error_reason(error), "late");
    assert_string_equal(mdist_error_operation(error), "mdist_prepared");
    assert_int_equal(mdist_error_replica(error), 3);
    assert_true(mdist_error_native(error) == INT64_MIN);
    mdist_error_free(error);
}

void the_failing_operation_wins_over_the_call(void **) {
    mdist_error_t *error = nullptr;
    guard("mdist_run", &error, [] { throw Failure(MDIST_ERR_MISMATCH, "no").operation("mdist_all_reduce"); });
    assert_string_equal(mdist_error_operation(error), "mdist_all_reduce");
    mdist_error_free(error);
}

void success_and_end_leave_the_error_alone(void **) {
    int unused = 0;
    auto *untouched = reinterpret_cast<mdist_error_t *>(&unused);
    mdist_error_t *error = untouched;
    assert_int_equal(guard("call", &error, [] {}), MDIST_OK);
    assert_int_equal(guard("call", &error, [] { return MDIST_END; }), MDIST_END);
    assert_ptr_equal(error, untouched);
}

void errors_may_be_null(void **) {
    assert_int_equal(guard("call", nullptr, [] { throw Failure(MDIST_ERR_IO, "no"); }), MDIST_ERR_IO);
    assert_int_equal(guard("call", nullptr, [] { throw std::bad_alloc(); }), MDIST_ERR_OUT_OF_MEMORY);
    assert_int_equal(guard("call", nullptr, [] { throw 1; }), MDIST_ERR_INTERNAL);
    assert_int_equal(mdist_error_status(nullptr), MDIST_OK);
    assert_string_equal(mdist_error_message(nullptr), "");
    assert_string_equal(mdist_error_reason(nullptr), "");
    assert_string_equal(mdist_error_operation(nullptr), "");
    assert_int_equal(mdist_error_replica(nullptr), MDIST_NONE);
    assert_int_equal(mdist_error_native(nullptr), 0);
    mdist_error_free(nullptr);
}

void other_exceptions_are_internal(void **) {
    mdist_error_t *error = nullptr;
    assert_int_equal(guard("call", &error, [] { throw std::logic_error("a hole"); }), MDIST_ERR_INTERNAL);
    assert_non_null(std::strstr(mdist_error_message(error), "a hole"));
    mdist_error_free(error);
    assert_int_equal(guard("call", &error, [] { throw 7; }), MDIST_ERR_INTERNAL);
    assert_string_not_equal(mdist_error_message(error), "");
    mdist_error_free(error);
}

void out_of_memory_needs_no_memory(void **) {
    mdist_error_t *error = nullptr;
    assert_int_equal(guard("call", &error, [] { throw std::bad_alloc(); }), MDIST_ERR_OUT_OF_MEMORY);
    assert_string_equal(mdist_error_message(error), "out of memory");
    mdist_error_free(error);
    mdist_error_free(error);
}

void without_memory_for_the_story_the_status_stays_true(void **) {
    for (int status = MDIST_ERR_INVALID_ARGUMENT; status >= MDIST_ERR_INTERNAL; --status) {
        mdist_error_t *error = nullptr;
        memory_is_gone = true;
        const auto got =
            guard("call", &error, [&] { throw Failure(static_cast<mdist_status_t>(status), "a long story"); });
        memory_is_gone = false;
        assert_int_equal(got, status);
        assert_int_equal(mdist_error_status(error), status);
        assert_non_null(std::strstr(mdist_error_message(error), "out of memory"));
        mdist_error_free(error);
    }
}

struct Exit {
    bool came_back = false;
    bool unwound = false;
};

struct Unwound {
    Exit *exit;
    ~Unwound() { exit->unwound = true; }
};

void a_thread_exit_passes_through(void **) {
    Exit exit;
    pthread_t thread;
    const auto run = [](void *data) -> void * {
        auto *seen = static_cast<Exit *>(data);
        guard("call", nullptr, [seen] {
            const Unwound unwound{seen};
            pthread_exit(seen);
        });
        seen->came_back = true;
        return nullptr;
    };
    assert_int_equal(pthread_create(&thread, nullptr, run, &exit), 0);
    void *result = nullptr;
    pthread_join(thread, &result);
    assert_ptr_equal(result, &exit);
    assert_true(exit.unwound);
    assert_false(exit.came_back);
}

void count_up(void *data) {
    ++*static_cast<int *>(data);
}

void what_was_kept_is_freed_exactly_once(void **) {
    int freed = 0;
    { mdist::Kept refused(&freed, count_up); }
    assert_int_equal(freed, 1);
    {
        mdist::Kept taken(&freed, count_up);
        const auto shared = taken.share();
        const auto second = shared;
        assert_int_equal(freed, 1);
    }
    assert_int_equal(freed, 2);
    { mdist::Kept nothing(&freed, nullptr); }
    assert_int_equal(freed, 2);
}

struct Options {
    uint32_t struct_size;
    uint32_t flags;
    uint64_t timeout_ns;
};

struct LaterOptions {
    Options now;
    uint64_t more;
};

template <class Body>
int status_of(Body body) {
    return guard("call", nullptr, body);
}

void options_of_older_and_newer_callers_are_understood(void **) {
    const Options now = {sizeof now, 0, 5};
    assert_int_equal(mdist::read_options(&now, "options").timeout_ns, 5);
    assert_int_equal(mdist::read_options<Options>(nullptr, "options").timeout_ns, 0);
    const Options older = {8, 0, 5};
    assert_int_equal(mdist::read_options(&older, "options", 8).timeout_ns, 0);
    assert_int_equal(status_of([&] { mdist::read_options(&older, "options"); }), MDIST_ERR_INVALID_ARGUMENT);
    LaterOptions later = {{sizeof later, 0, 5}, 0};
    assert_int_equal(mdist::read_options(&later.now, "options").timeout_ns, 5);
    later.more = 1;
    assert_int_equal(status_of([&] { mdist::read_options(&later.now, "options"); }), MDIST_ERR_UNSUPPORTED);
    const Options garbage = {0xdeadbeef, 0, 0};
    assert_int_equal(status_of([&] { mdist::read_options(&garbage, "options"); }), MDIST_ERR_INVALID_ARGUMENT);
    assert_int_equal(status_of([] { mdist::need_zero(1, "flags"); }), MDIST_ERR_INVALID_ARGUMENT);
}

void text_is_cut_between_characters(void **) {
    char text[8] = "xxxxxxx";
    std::size_t needed = 0;
    mdist::copy_text("a\xc3\xa4\xe2\x82\xac", text, 6, &needed);
    assert_string_equal(text, "a\xc3\xa4");
    assert_int_equal(needed, 7);
    mdist::copy_text("a\xc3\xa4\xe2\x82\xac", text, 7, nullptr);
    assert_string_equal(text, "a\xc3\xa4\xe2\x82\xac");
    mdist::copy_text("abc", text, 1, nullptr);
    assert_string_equal(text, "");
    mdist::copy_text("abc", nullptr, 0, &needed);
    assert_int_equal(needed, 4);
    assert_int_equal(status_of([] { mdist::copy_text("abc", nullptr, 4, nullptr); }), MDIST_ERR_INVALID_ARGUMENT);
}

// Last: what watch_forks starts cannot be undone.
void a_forked_child_is_told_so_and_the_parent_goes_on(void **) {
    mdist::watch_forks();
    mdist::watch_forks();
    const pid_t child = fork();
    if (child == 0) {
        mdist_error_t *error = nullptr;
        mdist_config_t *config = nullptr;
        const bool refused = mdist_config_create(&config, &error) == MDIST_ERR_FAILED_PRECONDITION &&
                             std::strcmp(mdist_error_reason(error), "forked") == 0 && config == nullptr;
        _exit(refused ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(guard("call", nullptr, [] {}), MDIST_OK);
}

} // namespace

SUBJECT(guard) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_arrives_with_all_its_fields),
        cmocka_unit_test(the_failing_operation_wins_over_the_call),
        cmocka_unit_test(success_and_end_leave_the_error_alone),
        cmocka_unit_test(errors_may_be_null),
        cmocka_unit_test(other_exceptions_are_internal),
        cmocka_unit_test(out_of_memory_needs_no_memory),
        cmocka_unit_test(without_memory_for_the_story_the_status_stays_true),
        cmocka_unit_test(a_thread_exit_passes_through),
        cmocka_unit_test(what_was_kept_is_freed_exactly_once),
        cmocka_unit_test(options_of_older_and_newer_callers_are_understood),
        cmocka_unit_test(text_is_cut_between_characters),
        cmocka_unit_test(a_forked_child_is_told_so_and_the_parent_goes_on),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

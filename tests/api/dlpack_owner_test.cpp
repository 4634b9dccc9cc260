// SPDX-License-Identifier: Apache-2.0
// Deleters that throw, and exchanges that run out of memory. A tensor has exactly one owner at any time, and nothing
// leaks.
#include "dlpack_support.h"

#include <atomic>
#include <cstdlib>
#include <initializer_list>
#include <new>
#include <stdexcept>

namespace {

std::atomic<int64_t> until_refusal{0}; // counts allocations down; the one that makes it 0 fails
std::atomic<int64_t> alive{0};

} // namespace

// The library's allocations come here too: the program's operator new replaces the library's.
void *operator new(std::size_t bytes) {
    if (until_refusal > 0 && --until_refusal == 0) throw std::bad_alloc();
    void *memory = std::malloc(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    ++alive;
    return memory;
}

void operator delete(void *memory) noexcept {
    if (memory != nullptr) --alive;
    std::free(memory);
}

void operator delete(void *memory, std::size_t) noexcept {
    operator delete(memory);
}

namespace {

float data[2] = {1, 2};
const int64_t shape[1] = {2};

void throw_legacy(DlLegacy *self) {
    delete_legacy(self);
    throw std::runtime_error("not today");
}

void throw_versioned(DlVersioned *self) {
    delete_versioned(self);
    throw 42;
}

void what_a_deleter_throws_ends_in_the_library(void **) {
    for (const DlLayout layout : {LEGACY, VERSIONED}) {
        mdist_error_t *error = nullptr;
        mdist_value_t *value = nullptr;
        Theirs theirs;
        Ours ours;
        describe(&theirs, layout, data, MDIST_FLOAT32, 1, shape);
        theirs.legacy.deleter = throw_legacy;
        theirs.versioned.deleter = throw_versioned;
        OK(take_in(&theirs, &value, &error));
        mdist_value_destroy(value);
        assert_int_equal(theirs.deleted, 1);
        OK(take_in(&theirs, &value, &error));
        OK(give_out(value, 0, layout, &ours, &error));
        mdist_value_destroy(value);
        assert_int_equal(theirs.deleted, 1);
        delete_ours(&ours);
        assert_int_equal(theirs.deleted, 2);
    }
}

/// Calls `exchange` with its first allocation failing, then its second, and so on. Returns how many it makes.
template <typename Exchange>
int64_t refuse_each(const Exchange &exchange) {
    for (int64_t nth = 1;; ++nth) {
        const int64_t before = alive;
        mdist_error_t *error = nullptr;
        until_refusal = nth;
        const mdist_status_t status = exchange(&error);
        const bool refused = until_refusal.exchange(0) == 0;
        assert_int_equal(status, refused ? MDIST_ERR_OUT_OF_MEMORY : MDIST_OK);
        assert_int_equal(mdist_error_status(error), status);
        mdist_error_free(error);
        if (!refused) return nth - 1;
        assert_int_equal(alive, before);
    }
}

void a_tensor_that_finds_no_memory_stays_with_its_owner(void **) {
    for (const DlLayout layout : {LEGACY, VERSIONED}) {
        mdist_value_t *value = nullptr;
        Theirs theirs;
        describe(&theirs, layout, data, MDIST_FLOAT32, 1, shape);
        const int64_t requests = refuse_each([&](mdist_error_t **error) {
            const mdist_status_t status = take_in(&theirs, &value, error);
            return theirs.deleted == 0 && (value == nullptr) == (status < 0) ? status : MDIST_ERR_INTERNAL;
        });
        assert_true(requests > 0);
        mdist_value_destroy(value);
        assert_int_equal(theirs.deleted, 1);
    }
}

void nothing_is_lost_where_nothing_can_be_given_out(void **) {
    for (const DlLayout layout : {LEGACY, VERSIONED}) {
        mdist_error_t *error = nullptr;
        mdist_value_t *value = nullptr;
        Theirs theirs;
        Ours ours;
        describe(&theirs, layout, data, MDIST_FLOAT32, 1, shape);
        OK(take_in(&theirs, &value, &error));
        const int64_t before = alive;
        const int64_t requests = refuse_each([&](mdist_error_t **story) {
            const mdist_status_t status = give_out(value, 0, layout, &ours, story);
            const bool nothing = ours.managed.plain == nullptr && ours.managed.versioned == nullptr;
            return nothing == (status < 0) ? status : MDIST_ERR_INTERNAL;
        });
        assert_true(requests > 0);
        delete_ours(&ours);
        assert_int_equal(alive, before);
        mdist_value_destroy(value);
        assert_int_equal(theirs.deleted, 1);
    }
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(what_a_deleter_throws_ends_in_the_library),
        cmocka_unit_test(a_tensor_that_finds_no_memory_stays_with_its_owner),
        cmocka_unit_test(nothing_is_lost_where_nothing_can_be_given_out),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

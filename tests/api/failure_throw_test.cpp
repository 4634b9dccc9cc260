// SPDX-License-Identifier: Apache-2.0
// Callbacks that throw C++ exceptions. No exception leaves the library, and the error describes it.
#include "mdist_test.h"

#include <atomic>
#include <new>
#include <stdexcept>
#include <string>

namespace {

enum class Thrown { kException, kInt, kOutOfMemory };
enum class Place { kStep, kMerge, kNestedStep, kUpdate };
constexpr int kPlaces = 4;

struct Case {
    mdist_strategy_t *strategy;
    int32_t who;
    Thrown thrown;
    Place place;
    std::atomic<uint32_t> done{0};
    std::atomic<uint32_t> gone{0}; // destructors that ran while the exception passed
};

[[noreturn]] void throw_it(Case &self) {
    struct Passed {
        std::atomic<uint32_t> &count;
        ~Passed() { ++count; }
    };
    const Passed passed{self.gone};
    switch (self.thrown) {
        case Thrown::kInt:
            throw 42;
        case Thrown::kOutOfMemory:
            throw std::bad_alloc();
        case Thrown::kException:
            break;
    }
    throw std::runtime_error("no such luck");
}

int32_t update(uint32_t local, const mdist_tensor_t *, const mdist_tensor_t *, size_t, mdist_value_t **, size_t,
               void *user_data) {
    Case &self = *static_cast<Case *>(user_data);
    if (static_cast<int32_t>(local) == self.who) throw_it(self);
    return 0;
}

int32_t step(mdist_replica_t *replica, void *user_data);

int32_t merge(mdist_strategy_t *strategy, mdist_value_t *const *, size_t, mdist_value_t **, size_t, void *user_data) {
    Case &self = *static_cast<Case *>(user_data);
    if (self.place == Place::kMerge) throw_it(self);
    Case nested{strategy, self.who, self.thrown, Place::kStep};
    const mdist_status_t status = mdist_run(strategy, step, &nested, NULL, nullptr);
    self.gone += nested.gone;
    return status == MDIST_ERR_CALLBACK && nested.done + 1 == mdist_strategy_replica_count(strategy) ? 66 : 55;
}

int32_t step(mdist_replica_t *replica, void *user_data) {
    Case &self = *static_cast<Case *>(user_data);
    if (self.place == Place::kStep) {
        if (static_cast<int32_t>(mdist_replica_id(replica)) == self.who) throw_it(self);
        mdist_barrier(replica, nullptr, nullptr);
    } else {
        mdist_merge_call(replica, merge, &self, nullptr, 0, nullptr, 0, nullptr, nullptr);
    }
    ++self.done;
    return 0;
}

int32_t meet(mdist_replica_t *replica, void *) {
    return mdist_barrier(replica, nullptr, nullptr);
}

mdist_status_t run_case(Case &self, mdist_variable_t *variable, mdist_error_t **error) {
    if (self.place == Place::kUpdate) return mdist_update(variable, update, &self, nullptr, error);
    return mdist_run(self.strategy, step, &self, NULL, error);
}

void check_words(const Case &thrown, const mdist_error_t *error) {
    const bool by_one = thrown.place == Place::kStep || thrown.place == Place::kUpdate;
    assert_int_equal(mdist_error_replica(error), by_one ? thrown.who : 0);
    assert_int_equal(mdist_error_native(error), thrown.place == Place::kNestedStep ? 66 : 0);
    if (thrown.place == Place::kNestedStep)
        WORDS(error, "66");
    else
        WORDS(error, thrown.thrown == Thrown::kException ? "no such luck" : "threw");
}

void an_exception_at_any_place_and_replica_is_told(void **) {
    for (uint32_t replicas = 1; replicas <= 4; ++replicas) {
        mdist_strategy_t *strategy = make_strategy(replicas, nullptr);
        const mdist_tensor_t initial = tensor_of(nullptr, MDIST_FLOAT32, 3);
        mdist_variable_t *variable = nullptr;
        mdist_error_t *error = nullptr;
        OK(mdist_variable_create(strategy, "v", &initial, &variable, nullptr, &error));
        for (uint32_t i = 0; i < replicas * kPlaces * 3; ++i) {
            Case thrown{strategy, static_cast<int32_t>(i % replicas), static_cast<Thrown>(i / replicas % 3),
                        static_cast<Place>(i / replicas / 3)};
            const mdist_status_t status = run_case(thrown, variable, &error);
            assert_int_equal(thrown.gone, 1);
            assert_int_equal(status, MDIST_ERR_CALLBACK); // even for a bad_alloc that the callback throws
            check_words(thrown, error);
            mdist_error_free(error);
            error = nullptr;
            OK(mdist_run(strategy, meet, nullptr, NULL, &error));
        }
        mdist_variable_destroy(variable);
        mdist_strategy_destroy(strategy);
    }
}

int32_t say_and_throw(mdist_replica_t *, void *user_data) {
    mdist_fail(0, "batch 41");
    if (user_data != nullptr) throw std::runtime_error("no \xff luck");
    throw 42;
}

void what_is_said_before_an_exception_is_told_too(void **) {
    mdist_strategy_t *strategy = make_strategy(1, nullptr);
    int any = 0;
    for (int *user_data : {&any, static_cast<int *>(nullptr)}) {
        mdist_error_t *error = nullptr;
        mdist_run(strategy, say_and_throw, user_data, NULL, &error);
        assert_int_equal(mdist_error_status(error), MDIST_ERR_CALLBACK);
        assert_string_equal(mdist_error_message(error),
                            user_data != nullptr
                                ? "the step of replica 0 threw: no \\xff luck: batch 41"
                                : "the step of replica 0 threw something that is not a std::exception: batch 41");
        mdist_error_free(error);
    }
    mdist_strategy_destroy(strategy);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(an_exception_at_any_place_and_replica_is_told),
                                cmocka_unit_test(what_is_said_before_an_exception_is_told_too)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

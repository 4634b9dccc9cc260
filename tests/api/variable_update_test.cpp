// SPDX-License-Identifier: Apache-2.0
// mdist_update: updates one copy after another with the arguments of its replica, and every way to fail.
#include <atomic>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "mdist_test.h"
#include "run_io.h"

namespace {

constexpr uint32_t kReplicas = 3;

struct World {
    mdist_strategy_t *strategy = make_strategy(kReplicas, nullptr);
    mdist_variable_t *variable = nullptr;
    mdist_value_t *each = nullptr; // 10, 20, 30
    mdist_value_t *one = nullptr;  // 7

    World() {
        mdist_error_t *error = nullptr;
        float initial = 1;
        float seven = 7;
        float own[kReplicas] = {10, 20, 30};
        const mdist_tensor_t tensor = tensor_of(&initial, MDIST_FLOAT32, 0);
        mdist_tensor_t tensors[kReplicas];
        for (uint32_t r = 0; r < kReplicas; ++r) tensors[r] = tensor_of(&own[r], MDIST_FLOAT32, 0);
        OK(mdist_variable_create(strategy, "v", &tensor, &variable, nullptr, &error));
        OK(mdist_value_per_replica(strategy, tensors, kReplicas, &each, &error));
        one = make_value(&seven, MDIST_FLOAT32, 0);
    }
    void end() const {
        mdist_value_destroy(one);
        mdist_value_destroy(each);
        mdist_variable_destroy(variable);
        mdist_strategy_destroy(strategy);
    }
    float copy(uint32_t local) const {
        mdist_error_t *error = nullptr;
        mdist_tensor_t tensor;
        OK(mdist_variable_tensor(variable, local, &tensor, &error));
        return *static_cast<float *>(tensor.data);
    }
};

struct Seen {
    World *world;
    std::vector<uint32_t> order;
    uint32_t stop_at = kReplicas;
    int how = 0; // 0 to 2: how it fails there
    int wrong = 0;
};

int32_t add_arguments(uint32_t local, const mdist_tensor_t *copy, const mdist_tensor_t *arguments, size_t count,
                      mdist_value_t **, size_t, void *user_data) {
    Seen &seen = *static_cast<Seen *>(user_data);
    seen.order.push_back(local);
    if (local == seen.stop_at) {
        if (seen.how == 0) return 42;
        if (seen.how == 1) throw std::runtime_error("out of patience");
        throw 5;
    }
    for (size_t i = 0; i < count; ++i)
        *static_cast<float *>(copy->data) += *static_cast<const float *>(arguments[i].data);
    return 0;
}

void every_copy_is_updated_with_its_own_arguments(void **) {
    mdist_error_t *error = nullptr;
    World world;
    Seen seen{&world, {}};
    mdist_value_t *arguments[] = {world.each, world.one};
    OK(mdist_update(world.variable, add_arguments, &seen, io_of(arguments, 2).get(), &error));
    assert_true((seen.order == std::vector<uint32_t>{0, 1, 2}));
    for (uint32_t local = 0; local < kReplicas; ++local)
        assert_true(world.copy(local) == static_cast<float>(18 + 10 * local));
    OK(mdist_update(world.variable, add_arguments, &seen, nullptr, &error));
    world.end();
}

void the_first_failure_stops_the_update_and_is_told(void **) {
    const char *words[] = {"42", "out of patience", "not a std::exception"};
    for (int how = 0; how < 3; ++how) {
        World world;
        Seen seen{&world, {}, 1, how};
        mdist_value_t *arguments[] = {world.one};
        mdist_error_t *error = nullptr;
        assert_int_equal(mdist_update(world.variable, add_arguments, &seen, io_of(arguments, 1).get(), &error),
                         MDIST_ERR_CALLBACK);
        WORDS(error, words[how]);
        WORDS(error, "\"v\"");
        assert_int_equal(mdist_error_native(error), how == 0 ? 42 : 0);
        assert_int_equal(mdist_error_replica(error), 1);
        mdist_error_free(error);
        assert_int_equal(seen.order.size(), 2);
        assert_true(world.copy(0) == 8); // was changed before, and stays changed
        assert_true(world.copy(1) == 1 && world.copy(2) == 1);
        seen = Seen{&world, {}};
        OK(mdist_update(world.variable, add_arguments, &seen, io_of(arguments, 1).get(), &error)); // works afterwards
        world.end();
    }
}

void wrong_arguments_are_refused_before_the_first_copy(void **) {
    mdist_error_t *error = nullptr;
    World world;
    mdist_strategy_t *two = make_strategy(2, nullptr);
    float numbers[2] = {1, 2};
    const mdist_tensor_t tensors[2] = {tensor_of(&numbers[0], MDIST_FLOAT32, 0),
                                       tensor_of(&numbers[1], MDIST_FLOAT32, 0)};
    mdist_value_t *other = nullptr;
    OK(mdist_value_per_replica(two, tensors, 2, &other, &error));
    Seen seen{&world, {}};
    mdist_value_t *arguments[] = {world.one, other};
    assert_int_equal(mdist_update(world.variable, add_arguments, &seen, io_of(arguments, 2).get(), &error),
                     MDIST_ERR_INVALID_ARGUMENT);
    WORDS(error, "argument 1 has 2 tensors");
    mdist_error_free(error);
    arguments[1] = nullptr;
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_update(world.variable, add_arguments, &seen, io_of(arguments, 2).get(), &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_update(world.variable, nullptr, &seen, io_of(arguments, 1).get(), &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT,
          mdist_update(world.variable, add_arguments, &seen, io_of(nullptr, 1).get(), &error));
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_update(nullptr, add_arguments, &seen, io_of(arguments, 1).get(), &error));
    assert_true(seen.order.empty());
    mdist_value_destroy(other);
    mdist_strategy_destroy(two);
    world.end();
}

/// In an update function, assign writes the current copy with its own tensor, and reading and reducing work. A value
/// without a tensor for the copy is refused.
struct Inside {
    World *world;
    mdist_value_t *other; // of two replicas
    int wrong = 0;
};

int32_t call_inside(uint32_t local, const mdist_tensor_t *copy, const mdist_tensor_t *, size_t, mdist_value_t **,
                    size_t, void *user_data) {
    Inside &inside = *static_cast<Inside *>(user_data);
    World &world = *inside.world;
    float *const number = static_cast<float *>(copy->data);
    inside.wrong += mdist_variable_assign(world.variable, MDIST_ASSIGN_SET, world.each, nullptr) != MDIST_OK;
    inside.wrong += *number != static_cast<float>(10 + 10 * local);
    inside.wrong += mdist_variable_assign(world.variable, MDIST_ASSIGN_ADD, world.one, nullptr) != MDIST_OK;
    inside.wrong += *number != static_cast<float>(17 + 10 * local);
    for (uint32_t later = local + 1; later < kReplicas; ++later) inside.wrong += world.copy(later) != 1;
    inside.wrong +=
        mdist_variable_assign(world.variable, MDIST_ASSIGN_SET, inside.other, nullptr) != MDIST_ERR_INVALID_ARGUMENT;
    mdist_value_t *out = nullptr;
    inside.wrong += mdist_strategy_reduce(world.strategy, MDIST_SUM, world.each, &out, NULL, nullptr) != MDIST_OK;
    mdist_value_destroy(out);
    inside.wrong += mdist_variable_read(world.variable, &out, NULL, nullptr) != MDIST_OK;
    mdist_value_destroy(out);
    return 0;
}

void an_update_writes_the_copy_at_hand_only(void **) {
    mdist_error_t *error = nullptr;
    World world;
    mdist_strategy_t *two = make_strategy(2, nullptr);
    float numbers[2] = {1, 2};
    const mdist_tensor_t tensors[2] = {tensor_of(&numbers[0], MDIST_FLOAT32, 0),
                                       tensor_of(&numbers[1], MDIST_FLOAT32, 0)};
    Inside inside{&world, nullptr};
    OK(mdist_value_per_replica(two, tensors, 2, &inside.other, &error));
    OK(mdist_update(world.variable, call_inside, &inside, nullptr, &error));
    assert_int_equal(inside.wrong, 0);
    mdist_value_destroy(inside.other);
    mdist_strategy_destroy(two);
    world.end();
}

struct Step {
    World *world;
    std::atomic<int> wrong{0};
};

int32_t merge_update(mdist_strategy_t *, mdist_value_t *const *arguments, size_t count, mdist_value_t **, size_t,
                     void *user_data) {
    Step &step = *static_cast<Step *>(user_data);
    Seen seen{step.world, {}};
    if (count != 1) return 1;
    mdist_value_t *values[] = {arguments[0]};
    return mdist_update(step.world->variable, add_arguments, &seen, io_of(values, 1).get(), nullptr);
}

int32_t update_in_step(mdist_replica_t *replica, void *user_data) {
    Step &step = *static_cast<Step *>(user_data);
    mdist_error_t *error = nullptr;
    Seen seen{step.world, {}};
    if (mdist_update(step.world->variable, add_arguments, &seen, nullptr, &error) != MDIST_ERR_WRONG_CONTEXT ||
        std::strstr(mdist_error_message(error), "mdist_merge_call") == nullptr)
        ++step.wrong;
    mdist_error_free(error);
    float number = static_cast<float>(mdist_replica_id(replica));
    const mdist_tensor_t tensor = tensor_of(&number, MDIST_FLOAT32, 0);
    return mdist_merge_call(replica, merge_update, &step, &tensor, 1, nullptr, 0, nullptr, nullptr);
}

void a_step_updates_through_a_merge(void **) {
    mdist_error_t *error = nullptr;
    World world;
    Step step{&world};
    OK(mdist_run(world.strategy, update_in_step, &step, NULL, &error));
    assert_int_equal(step.wrong, 0);
    for (uint32_t local = 0; local < kReplicas; ++local)
        assert_true(world.copy(local) == static_cast<float>(1 + local));
    world.end();
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(every_copy_is_updated_with_its_own_arguments),
        cmocka_unit_test(the_first_failure_stops_the_update_and_is_told),
        cmocka_unit_test(wrong_arguments_are_refused_before_the_first_copy),
        cmocka_unit_test(an_update_writes_the_copy_at_hand_only),
        cmocka_unit_test(a_step_updates_through_a_merge),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// SPDX-License-Identifier: Apache-2.0
// Finding the variable of an address, and variables that are placed with others.
#include "variable_support.h"

static mdist_variable_t *create(mdist_strategy_t *strategy, const char *name, mdist_dtype_t dtype, uint64_t elements) {
    mdist_error_t *error = NULL;
    mdist_variable_t *variable = NULL;
    const mdist_tensor_t zeros = shaped(NULL, (int32_t)dtype, elements, NO, NO);
    OK(mdist_variable_create(strategy, name, &zeros, &variable, NULL, &error));
    return variable;
}

static void expect_found(mdist_strategy_t *strategy, const void *address, const char *name, uint32_t copy) {
    mdist_error_t *error = NULL;
    mdist_variable_t *found = NULL;
    uint32_t local = 99;
    OK(mdist_variable_at_address(strategy, address, &found, &local, &error));
    assert_string_equal(mdist_variable_name(found), name);
    assert_int_equal(local, copy);
    mdist_variable_destroy(found);
}

static void expect_not_found(mdist_strategy_t *strategy, const void *address) {
    mdist_error_t *error = NULL;
    mdist_variable_t *found = NULL;
    uint32_t local = 99;
    FAILS(MDIST_ERR_NOT_FOUND, mdist_variable_at_address(strategy, address, &found, &local, &error));
    assert_null(found);
    assert_int_equal(local, 99);
}

static void any_address_of_a_copy_leads_to_its_variable(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t replicas = 1; replicas <= 3; ++replicas) {
        mdist_strategy_t *strategy = make_strategy(replicas, NULL), *other = make_strategy(replicas, NULL);
        mdist_variable_t *variables[] = {
            create(strategy, "first", MDIST_FLOAT32, 20), create(strategy, "none", MDIST_FLOAT32, 0),
            create(strategy, "last", MDIST_FLOAT32, 3), create(strategy, "wide", MDIST_FLOAT64, 5)};
        mdist_variable_t *theirs = create(other, "first", MDIST_FLOAT32, 20);
        for (int v = 0; v < 4; ++v)
            for (uint32_t local = 0; local < replicas; ++local) {
                mdist_tensor_t copy;
                OK(mdist_variable_tensor(variables[v], local, &copy, &error));
                const size_t bytes = mdist_tensor_elements(&copy) * mdist_dtype_size((mdist_dtype_t)copy.dtype);
                const char *const begin = copy.data, *const end = begin + (bytes == 0 ? 1 : bytes);
                expect_found(strategy, begin, mdist_variable_name(variables[v]), local);
                expect_found(strategy, end - 1, mdist_variable_name(variables[v]), local);
                expect_not_found(strategy, end); // in a gap: no variable fills its last 64 bytes
                expect_not_found(other, begin);
            }
        expect_not_found(strategy, variables);
        expect_not_found(strategy, NULL);
        mdist_variable_t *found = NULL;
        FAILS(MDIST_ERR_BAD_HANDLE, mdist_variable_at_address(NULL, variables, &found, NULL, &error));
        FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_variable_at_address(strategy, variables, NULL, NULL, &error));
        mdist_variable_destroy(theirs);
        for (int v = 0; v < 4; ++v) mdist_variable_destroy(variables[v]);
        mdist_strategy_destroy(other);
        mdist_strategy_destroy(strategy);
    }
}

static void the_variable_goes_with_the_last_of_its_handles(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_variable_t *variable = create(strategy, "v", MDIST_FLOAT32, 4), *found = NULL;
    mdist_tensor_t copy;
    OK(mdist_variable_tensor(variable, 1, &copy, &error));
    OK(mdist_variable_at_address(strategy, copy.data, &found, NULL, &error));
    mdist_variable_destroy(variable);
    expect_found(strategy, copy.data, "v", 1);
    mdist_variable_destroy(found);
    expect_not_found(strategy, copy.data);
    // The next variable gets its place and its address.
    variable = create(strategy, "w", MDIST_FLOAT32, 2);
    expect_found(strategy, copy.data, "w", 1);
    mdist_variable_destroy(variable);
    mdist_strategy_destroy(strategy);
}

typedef struct InStep {
    mdist_strategy_t *strategy;
    Note notes[2];
} InStep;

/// Creates a variable, and finds it by the address of its own copy.
static int32_t create_and_find(mdist_replica_t *replica, void *user_data) {
    InStep *const self = user_data;
    const int32_t id = mdist_replica_id(replica);
    mdist_error_t *error = NULL;
    mdist_variable_t *created = NULL, *found = NULL;
    mdist_tensor_t copy;
    uint32_t local = 99;
    float one = 1;
    const mdist_tensor_t initial = tensor_of(&one, MDIST_FLOAT32, 0);
    note(&self->notes[id], MDIST_OK,
         mdist_replica_variable_create(replica, "in a step", &initial, &created, NULL, &error), &error, "create");
    note(&self->notes[id], MDIST_OK, mdist_variable_tensor(created, (uint32_t)id, &copy, &error), &error, "tensor");
    note(&self->notes[id], MDIST_OK, mdist_variable_at_address(self->strategy, copy.data, &found, &local, &error),
         &error, "mdist_variable_at_address");
    const int right = local == (uint32_t)id && strcmp(mdist_variable_name(found), "in a step") == 0;
    mdist_variable_destroy(created);
    mdist_variable_destroy(found);
    return right ? 0 : 1;
}

static void a_step_finds_its_own_copy(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    InStep self = {.strategy = make_strategy(2, NULL)};
    OK(mdist_run(self.strategy, create_and_find, &self, NULL, &error));
    for (int i = 0; i < 2; ++i) assert_string_equal(self.notes[i].text, "");
    mdist_strategy_destroy(self.strategy);
}

// ---- Colocation.

static void a_variable_lies_with_another_of_its_strategy_only(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL), *other = make_strategy(2, NULL);
    mdist_variable_t *anchor = scalar_variable(strategy, "anchor", 1, 0, 0), *slot = NULL;
    mdist_variable_t *foreign = scalar_variable(other, "foreign", 1, 0, 0);
    float zero = 0;
    const mdist_tensor_t initial = tensor_of(&zero, MDIST_FLOAT32, 0);
    mdist_variable_options_t options = {.struct_size = sizeof options, .colocate_with = foreign};
    const mdist_status_t status = mdist_variable_create(strategy, "slot", &initial, &slot, &options, &error);
    WORDS(error, "\"foreign\" of another strategy");
    assert_int_equal(status, MDIST_ERR_INVALID_ARGUMENT);
    mdist_error_free(error);
    mdist_value_t *value = make_value(&zero, MDIST_FLOAT32, 0);
    options.colocate_with = (const mdist_variable_t *)value;
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_variable_create(strategy, "slot", &initial, &slot, &options, &error));
    mdist_value_destroy(value);
    options.colocate_with = anchor;
    OK(mdist_variable_create(strategy, "slot", &initial, &slot, &options, &error));
    mdist_variable_destroy(slot);
    // Options of a program that was compiled with an older header, which lacks this field.
    options.colocate_with = foreign;
    options.struct_size = offsetof(mdist_variable_options_t, colocate_with);
    OK(mdist_variable_create(strategy, "slot", &initial, &slot, &options, &error));
    mdist_variable_destroy(slot);
    mdist_variable_destroy(foreign);
    mdist_variable_destroy(anchor);
    mdist_strategy_destroy(other);
    mdist_strategy_destroy(strategy);
}

typedef struct Colocating {
    const mdist_variable_t *with[2]; // by replica
    mdist_status_t status[2];
} Colocating;

static int32_t create_with(mdist_replica_t *replica, void *user_data) {
    Colocating *const self = user_data;
    const int32_t id = mdist_replica_id(replica);
    mdist_variable_t *created = NULL;
    float zero = 0;
    const mdist_tensor_t initial = tensor_of(&zero, MDIST_FLOAT32, 0);
    const mdist_variable_options_t options = {.struct_size = sizeof options, .colocate_with = self->with[id]};
    self->status[id] = mdist_replica_variable_create(replica, "slot", &initial, &created, &options, NULL);
    mdist_variable_destroy(created);
    return 0;
}

static void replicas_agree_with_which(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_variable_t *a = scalar_variable(strategy, "a", 1, 0, 0), *b = scalar_variable(strategy, "b", 1, 0, 0);
    Colocating same = {.with = {a, a}}, different = {.with = {a, b}};
    OK(mdist_run(strategy, create_with, &same, NULL, &error));
    const mdist_status_t status = mdist_run(strategy, create_with, &different, NULL, &error);
    WORDS(error, "with \"a\"");
    WORDS(error, "with \"b\"");
    assert_int_equal(status, MDIST_ERR_MISMATCH);
    mdist_error_free(error);
    mdist_variable_destroy(a);
    mdist_variable_destroy(b);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_address_of_a_copy_leads_to_its_variable),
        cmocka_unit_test(the_variable_goes_with_the_last_of_its_handles),
        cmocka_unit_test(a_step_finds_its_own_copy),
        cmocka_unit_test(a_variable_lies_with_another_of_its_strategy_only),
        cmocka_unit_test(replicas_agree_with_which),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

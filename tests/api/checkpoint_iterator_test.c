// SPDX-License-Identifier: Apache-2.0
// Iterators in checkpoints: they are restored together with the variables, or nothing is restored.
#include "checkpoint_support.h"

/// A strategy of 2 replicas with a variable, and an iterator over 0, 1, 2 ... shuffled with `seed`.
typedef struct Training {
    mdist_strategy_t *strategy;
    mdist_variable_t *variable;
    mdist_dataset_t *dataset;
    mdist_iterator_t *iterator;
    mdist_checkpoint_t *checkpoint;
} Training;

enum { ROWS = 20, BATCH = 4 };

static mdist_dataset_t *make_dataset(mdist_strategy_t *strategy, uint64_t seed) {
    mdist_error_t *error = NULL;
    mdist_dataset_t *rows = NULL, *mixed = NULL, *batches = NULL, *out = NULL;
    OK(mdist_dataset_range(0, ROWS, 1, &rows, NULL, &error));
    OK(mdist_dataset_shuffle(rows, ROWS, seed, &mixed, NULL, &error));
    OK(mdist_dataset_batch(mixed, BATCH, &batches, NULL, &error));
    OK(mdist_distribute_dataset(strategy, batches, &out, NULL, &error));
    mdist_dataset_destroy(rows);
    mdist_dataset_destroy(mixed);
    mdist_dataset_destroy(batches);
    return out;
}

static Training make_training(const char *folder, uint64_t seed) {
    mdist_error_t *error = NULL;
    Training self = {.strategy = make_strategy(2, NULL)};
    self.variable = scalar_variable(self.strategy, "w", 0, MDIST_SYNC_AUTO, MDIST_AGGREGATION_NONE);
    self.dataset = make_dataset(self.strategy, seed);
    OK(mdist_iterator_create(self.dataset, &self.iterator, &error));
    self.checkpoint = checkpoint_of(self.strategy, folder, 0, &self.variable, 1);
    return self;
}

static void end_training(Training *self) {
    mdist_iterator_destroy(self->iterator);
    mdist_dataset_destroy(self->dataset);
    destroy_all(self->strategy, self->checkpoint, &self->variable, 1);
}

static void add(Training *self, const char *name) {
    mdist_error_t *error = NULL;
    OK(mdist_checkpoint_add_iterator(self->checkpoint, name, self->iterator, &error));
}

/// Takes up to `steps` steps. Counts the numbers in `seen`.
static int take_steps(const Training *self, int steps, int *seen) {
    mdist_value_t *value = NULL;
    int taken = 0;
    for (; taken < steps && mdist_iterator_next(self->iterator, &value, 1, NULL) == MDIST_OK; ++taken) {
        for (uint32_t replica = 0; replica < 2; ++replica) {
            mdist_tensor_t tensor;
            assert_int_equal(mdist_value_tensor(value, replica, &tensor, NULL), MDIST_OK);
            for (uint64_t row = 0; row < tensor.shape[0]; ++row) ++seen[((const int64_t *)tensor.data)[row]];
        }
        mdist_value_destroy(value);
    }
    return taken;
}

static void an_iterator_comes_back_with_the_variables(void **state) {
    mdist_error_t *error = NULL;
    int seen[ROWS] = {0}, none[ROWS] = {0};
    Training first = make_training(*state, 3), second = make_training(*state, 3);
    add(&first, "train");
    add(&second, "train");
    set_copies(first.variable, 7, 7);
    assert_int_equal(take_steps(&first, 2, seen), 2);
    OK(mdist_checkpoint_save(first.checkpoint, 1, NULL, &error));
    take_steps(&first, 9, none);
    OK(mdist_checkpoint_restore(second.checkpoint, 1, NULL, NULL, &error));
    expect_copies(second.variable, 7, 7);
    assert_int_equal(take_steps(&second, 9, seen), 3);
    for (int row = 0; row < ROWS; ++row) assert_int_equal(seen[row], 1);
    OK(mdist_checkpoint_restore(first.checkpoint, 1, NULL, NULL, &error)); // from the end of the iterator
    assert_int_equal(take_steps(&first, 9, none), 3);
    end_training(&first);
    end_training(&second);
}

/// Checks that neither the variable nor the iterator has changed.
static void expect_untouched(Training *self) {
    int seen[ROWS] = {0};
    expect_copies(self->variable, 5, 5);
    assert_int_equal(take_steps(self, 99, seen), ROWS / BATCH - 1);
}

static void an_iterator_of_another_dataset_restores_nothing(void **state) {
    mdist_error_t *error = NULL;
    int seen[ROWS] = {0};
    Training first = make_training(*state, 3), other = make_training(*state, 4);
    add(&first, "train");
    add(&other, "train");
    OK(mdist_checkpoint_save(first.checkpoint, 1, NULL, &error));
    set_copies(other.variable, 5, 5);
    take_steps(&other, 1, seen);
    const mdist_restore_options_t partial = {.struct_size = sizeof partial, .flags = MDIST_RESTORE_PARTIAL};
    for (int i = 0; i < 2; ++i) {
        const mdist_status_t status =
            mdist_checkpoint_restore(other.checkpoint, 1, NULL, i == 0 ? NULL : &partial, &error);
        assert_int_equal(status, MDIST_ERR_MISMATCH);
        assert_string_equal(mdist_error_reason(error), "different_dataset");
        WORDS(error, "iterator \"train\"");
        WORDS(error, "seed 4");
        mdist_error_free(error);
        error = NULL;
    }
    expect_untouched(&other);
    end_training(&first);
    end_training(&other);
}

static void iterators_that_one_side_lacks_are_named(void **state) {
    mdist_error_t *error = NULL;
    int seen[ROWS] = {0};
    Training first = make_training(*state, 3), other = make_training(*state, 3);
    add(&first, "train");
    add(&other, "another");
    take_steps(&first, 3, seen);
    OK(mdist_checkpoint_save(first.checkpoint, 1, NULL, &error));
    set_copies(other.variable, 5, 5);
    take_steps(&other, 1, seen);
    assert_int_equal(mdist_checkpoint_restore(other.checkpoint, 1, NULL, NULL, &error), MDIST_ERR_MISMATCH);
    assert_string_equal(mdist_error_reason(error), "different_variables");
    WORDS(error, "1 missing in the file: iterator \"another\"");
    WORDS(error, "1 only in the file: iterator \"train\"");
    mdist_error_free(error);
    error = NULL;
    const mdist_restore_options_t partial = {.struct_size = sizeof partial, .flags = MDIST_RESTORE_PARTIAL};
    OK(mdist_checkpoint_restore(other.checkpoint, 1, NULL, &partial, &error));
    expect_copies(other.variable, 0, 0);
    set_copies(other.variable, 5, 5);
    expect_untouched(&other);
    end_training(&first);
    end_training(&other);
}

static void iterators_need_a_name_of_their_own(void **state) {
    mdist_error_t *error = NULL;
    Training self = make_training(*state, 3);
    add(&self, "w"); // the variable has this name, too
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_checkpoint_add_iterator(self.checkpoint, "w", self.iterator, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_checkpoint_add_iterator(self.checkpoint, "", self.iterator, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_checkpoint_add_iterator(self.checkpoint, NULL, self.iterator, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_checkpoint_add_iterator(self.checkpoint, "\xff", self.iterator, &error));
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_checkpoint_add_iterator(self.checkpoint, "x", NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_checkpoint_add_iterator(self.checkpoint, "x", self.iterator, &error));
    mdist_iterator_t *kept = NULL;
    OK(mdist_iterator_create(self.dataset, &kept, &error));
    OK(mdist_checkpoint_add_iterator(self.checkpoint, "\"x\" {}/\xc3\xa4", kept, &error));
    mdist_iterator_destroy(kept);
    OK(mdist_checkpoint_save(self.checkpoint, 1, NULL, &error));
    OK(mdist_checkpoint_restore(self.checkpoint, 1, NULL, NULL, &error));
    end_training(&self);
}

static void a_closed_iterator_saves_nothing(void **state) {
    mdist_error_t *error = NULL;
    Training self = make_training(*state, 3);
    add(&self, "train");
    OK(mdist_iterator_close(self.iterator, &error));
    FAILS(MDIST_ERR_FAILED_PRECONDITION, mdist_checkpoint_save(self.checkpoint, 1, NULL, &error));
    expect_files(*state, "");
    end_training(&self);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(an_iterator_comes_back_with_the_variables),
        IN_A_FOLDER(an_iterator_of_another_dataset_restores_nothing),
        IN_A_FOLDER(iterators_that_one_side_lacks_are_named),
        IN_A_FOLDER(iterators_need_a_name_of_their_own),
        IN_A_FOLDER(a_closed_iterator_saves_nothing),
    };
    quiet_log();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// Checkpoints of one worker with 1 to 3 replicas: what is saved and restored, and what happens with damaged files.
#include "checkpoint_support.h"

#include <fcntl.h>
#include <sys/file.h>

enum { W = MDIST_SYNC_ON_WRITE, R = MDIST_SYNC_ON_READ };
enum {
    NONE = MDIST_AGGREGATION_NONE,
    SUM = MDIST_AGGREGATION_SUM,
    MEAN = MDIST_AGGREGATION_MEAN,
    FIRST = MDIST_AGGREGATION_ONLY_FIRST_REPLICA
};

static void fill_copies(mdist_variable_t *variable, uint32_t replicas, uint8_t first) {
    mdist_error_t *error = NULL;
    for (uint32_t replica = 0; replica < replicas; ++replica) {
        mdist_tensor_t tensor;
        OK(mdist_variable_tensor(variable, replica, &tensor, &error));
        const size_t bytes = mdist_tensor_elements(&tensor) * mdist_dtype_size((mdist_dtype_t)tensor.dtype);
        for (size_t i = 0; i < bytes; ++i) ((uint8_t *)tensor.data)[i] = (uint8_t)(first + 7 * i);
    }
}

static void expect_filled(mdist_variable_t *variable, uint32_t replicas, uint8_t first) {
    mdist_error_t *error = NULL;
    for (uint32_t replica = 0; replica < replicas; ++replica) {
        mdist_tensor_t tensor;
        OK(mdist_variable_tensor(variable, replica, &tensor, &error));
        const size_t bytes = mdist_tensor_elements(&tensor) * mdist_dtype_size((mdist_dtype_t)tensor.dtype);
        for (size_t i = 0; i < bytes; ++i)
            if (((uint8_t *)tensor.data)[i] != (uint8_t)(first + 7 * i))
                fail_msg("byte %zu of %s, copy %u", i, mdist_variable_name(variable), (unsigned)replica);
    }
}

enum { VARIABLES = DTYPES + 4 };
static const uint64_t shapes[][3] = {{3, 5, 0}, {2, 2, 2}, {0, 4, 0}};
static const size_t ranks[] = {2, 3, 2};

/// Makes variables of every dtype and kind of shape: scalars, matrices, empty ones, and one of several chunks.
static void make_variables(mdist_strategy_t *strategy, mdist_variable_t *variables[VARIABLES]) {
    mdist_error_t *error = NULL;
    for (size_t i = 0; i < VARIABLES; ++i) {
        char name[32];
        snprintf(name, sizeof name, "layer/%zu \"\xc3\xa4\"", i);
        const uint64_t large[] = {5000001};
        const mdist_dtype_t dtype = (mdist_dtype_t)(i % DTYPES + 1);
        mdist_tensor_t tensor;
        if (i + 1 == VARIABLES)
            OK(mdist_tensor_describe(NULL, MDIST_INT8, large, 1, &tensor, &error));
        else
            OK(mdist_tensor_describe(NULL, dtype, i < 3 ? shapes[i] : shapes[i % 2],
                                     i < 3 ? ranks[i] : ranks[i % 2] * (i % 3 != 0), &tensor, &error));
        OK(mdist_variable_create(strategy, name, &tensor, &variables[i], NULL, &error));
    }
}

static void every_dtype_and_shape_comes_back_on_every_number_of_replicas(void **state) {
    char *const folder = *state;
    mdist_error_t *error = NULL;
    for (uint32_t saved_by = 1; saved_by <= 3; ++saved_by) {
        for (uint32_t restored_by = 1; restored_by <= 3; ++restored_by) {
            mdist_variable_t *variables[VARIABLES];
            mdist_strategy_t *strategy = make_strategy(saved_by, NULL);
            make_variables(strategy, variables);
            mdist_checkpoint_t *checkpoint = checkpoint_of(strategy, folder, 1, variables, VARIABLES);
            for (size_t i = 0; i < VARIABLES; ++i) fill_copies(variables[i], saved_by, (uint8_t)(i + saved_by));
            OK(mdist_checkpoint_save(checkpoint, saved_by, NULL, &error));
            destroy_all(strategy, checkpoint, variables, VARIABLES);

            strategy = make_strategy(restored_by, NULL);
            make_variables(strategy, variables);
            checkpoint = checkpoint_of(strategy, folder, 1, variables, VARIABLES);
            uint64_t number = 0;
            OK(mdist_checkpoint_restore(checkpoint, MDIST_LATEST, &number, NULL, &error));
            assert_int_equal(number, saved_by);
            for (size_t i = 0; i < VARIABLES; ++i) expect_filled(variables[i], restored_by, (uint8_t)(i + saved_by));
            destroy_all(strategy, checkpoint, variables, VARIABLES);
        }
    }
}

static void sync_on_read_variables_are_saved_reduced_and_restored_divided(void **state) {
    char *const folder = *state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_variable_t *variables[] = {
        scalar_variable(strategy, "sum", 0, R, SUM), scalar_variable(strategy, "mean", 0, R, MEAN),
        scalar_variable(strategy, "first", 0, R, FIRST), scalar_variable(strategy, "written", 0, W, NONE)};
    mdist_checkpoint_t *checkpoint = checkpoint_of(strategy, folder, 0, variables, 4);
    for (size_t i = 0; i < 4; ++i) set_copies(variables[i], 3, 4);
    OK(mdist_checkpoint_save(checkpoint, 1, NULL, &error));
    for (size_t i = 0; i < 4; ++i) set_copies(variables[i], 0, 0);
    OK(mdist_checkpoint_restore(checkpoint, 1, NULL, NULL, &error));
    expect_copies(variables[0], 3.5f, 3.5f);
    expect_read(variables[0], 7);
    expect_copies(variables[1], 3.5f, 3.5f);
    expect_copies(variables[2], 3, 3);
    expect_copies(variables[3], 3, 3);
    destroy_all(strategy, checkpoint, variables, 4);
}

static void a_value_saved_by_one_replica_is_divided_over_the_copies_of_a_sum(void **state) {
    char *const folder = *state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *alone = make_strategy(1, NULL), *two = make_strategy(2, NULL);
    mdist_variable_t *one = scalar_variable(alone, "v", 2, W, NONE), *sum = scalar_variable(two, "v", 0, R, SUM);
    mdist_checkpoint_t *from = checkpoint_of(alone, folder, 0, &one, 1), *to = checkpoint_of(two, folder, 0, &sum, 1);
    OK(mdist_checkpoint_save(from, 1, NULL, &error));
    OK(mdist_checkpoint_restore(to, 1, NULL, NULL, &error));
    expect_copies(sum, 1, 1);
    destroy_all(alone, from, &one, 1);
    destroy_all(two, to, &sum, 1);
}

static void a_variable_without_aggregation_cannot_be_saved_but_restored(void **state) {
    char *const folder = *state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_variable_t *none = scalar_variable(strategy, "v", 1, R, NONE);
    mdist_variable_t *plain = scalar_variable(strategy, "other", 5, W, NONE);
    mdist_checkpoint_t *checkpoint = checkpoint_of(strategy, folder, 0, &none, 1);
    assert_int_equal(mdist_checkpoint_save(checkpoint, 1, NULL, &error), MDIST_ERR_FAILED_PRECONDITION);
    assert_string_equal(mdist_error_reason(error), "no_aggregation");
    mdist_error_free(error);
    uint64_t number;
    FAILS(MDIST_ERR_NOT_FOUND, mdist_checkpoint_latest(folder, &number, &error));

    mdist_checkpoint_t *from = NULL;
    OK(mdist_checkpoint_create(strategy, folder, 0, &from, &error));
    OK(mdist_checkpoint_add(from, "v", plain, &error));
    OK(mdist_checkpoint_save(from, 1, NULL, &error));
    OK(mdist_checkpoint_restore(checkpoint, 1, NULL, NULL, &error));
    expect_copies(none, 5, 5);
    mdist_checkpoint_destroy(from);
    mdist_variable_destroy(plain);
    destroy_all(strategy, checkpoint, &none, 1);
}

static void texts_are_saved_along_and_replaced_by_those_of_the_file(void **state) {
    char *const folder = *state;
    mdist_error_t *error = NULL;
    char text[64];
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    mdist_checkpoint_t *checkpoint = checkpoint_of(strategy, folder, 0, NULL, 0);
    OK(mdist_checkpoint_set_text(checkpoint, "step", "17", &error));
    OK(mdist_checkpoint_set_text(checkpoint, "step", "18", &error));
    OK(mdist_checkpoint_set_text(checkpoint, "note \"\n", "\xc3\xa4\t\x01", &error));
    OK(mdist_checkpoint_save(checkpoint, 0, NULL, &error));
    OK(mdist_checkpoint_set_text(checkpoint, "step", "19", &error));
    OK(mdist_checkpoint_set_text(checkpoint, "new", "", &error));
    OK(mdist_checkpoint_restore(checkpoint, MDIST_LATEST, NULL, NULL, &error));
    size_t needed = 0;
    OK(mdist_checkpoint_text(checkpoint, "step", text, sizeof text, &needed, &error));
    assert_string_equal(text, "18");
    assert_int_equal(needed, 3);
    OK(mdist_checkpoint_text(checkpoint, "note \"\n", text, sizeof text, NULL, &error));
    assert_string_equal(text, "\xc3\xa4\t\x01");
    FAILS(MDIST_ERR_NOT_FOUND, mdist_checkpoint_text(checkpoint, "new", text, sizeof text, NULL, &error));
    const char *const keys[] = {"note \"\n", "step"}; // in the order of their bytes
    assert_int_equal(mdist_checkpoint_text_count(checkpoint), 2);
    for (size_t i = 0; i < 2; ++i) {
        OK(mdist_checkpoint_text_key(checkpoint, i, text, sizeof text, &needed, &error));
        assert_string_equal(text, keys[i]);
        assert_int_equal(needed, strlen(keys[i]) + 1);
    }
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_checkpoint_text_key(checkpoint, 2, text, sizeof text, NULL, &error));
    assert_int_equal(mdist_checkpoint_text_count(NULL), 0);
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_checkpoint_set_text(checkpoint, "mdist.crc32", "", &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_checkpoint_set_text(checkpoint, "", "", &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_checkpoint_set_text(checkpoint, "bytes", "\xff", &error));
    destroy_all(strategy, checkpoint, NULL, 0);
}

static void the_latest_is_the_one_saved_last_and_only_so_many_are_kept(void **state) {
    char *const folder = *state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    mdist_variable_t *v = scalar_variable(strategy, "v", 0, W, NONE);
    mdist_checkpoint_t *checkpoint = checkpoint_of(strategy, folder, 2, &v, 1);
    static const uint64_t numbers[] = {10, 20, 15, 20, 15};
    uint64_t latest = 0;
    for (size_t i = 0; i < 5; ++i) {
        set_copies(v, (float)i, 0);
        OK(mdist_checkpoint_save(checkpoint, numbers[i], NULL, &error));
        OK(mdist_checkpoint_latest(folder, &latest, &error));
        assert_int_equal(latest, numbers[i]);
    }
    expect_files(folder, "checkpoint-15.safetensors checkpoint-20.safetensors checkpoints.json");
    OK(mdist_checkpoint_restore(checkpoint, 20, NULL, NULL, &error));
    assert_float_equal(copy_of(v, 0), 3, 0);
    OK(mdist_checkpoint_restore(checkpoint, MDIST_LATEST, &latest, NULL, &error));
    assert_int_equal(latest, 15);
    assert_float_equal(copy_of(v, 0), 4, 0);
    assert_int_equal(mdist_checkpoint_restore(checkpoint, 10, NULL, NULL, &error), MDIST_ERR_NOT_FOUND);
    assert_string_equal(mdist_error_reason(error), "no_checkpoint");
    mdist_error_free(error);

    // Without the latest file, the one before is the latest.
    remove_file(folder, "checkpoint-15.safetensors");
    OK(mdist_checkpoint_restore(checkpoint, MDIST_LATEST, &latest, NULL, &error));
    assert_int_equal(latest, 20);
    destroy_all(strategy, checkpoint, &v, 1);
}

/// People copy the files, and forget the list.
static void without_a_list_the_highest_number_is_the_latest(void **state) {
    char *const folder = *state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    mdist_variable_t *v = scalar_variable(strategy, "v", 0, W, NONE);
    mdist_checkpoint_t *checkpoint = checkpoint_of(strategy, folder, 1, &v, 1);
    static const uint64_t numbers[] = {9, 10, 2};
    uint64_t latest = 0;
    for (size_t i = 0; i < 3; ++i) {
        set_copies(v, (float)numbers[i], 0);
        OK(mdist_checkpoint_save(checkpoint, numbers[i], NULL, &error));
        remove_file(folder, "checkpoints.json");
    }
    write_content(folder, "checkpoint-11.safetensors.old", "11", 2);
    write_content(folder, "checkpoint-012.safetensors", "12", 2);
    OK(mdist_checkpoint_latest(folder, &latest, &error));
    assert_int_equal(latest, 10);
    OK(mdist_checkpoint_restore(checkpoint, MDIST_LATEST, &latest, NULL, &error));
    assert_int_equal(latest, 10);
    assert_float_equal(copy_of(v, 0), 10, 0);

    // A save makes a list, which then decides, and removes nothing that it does not name.
    OK(mdist_checkpoint_save(checkpoint, 3, NULL, &error));
    OK(mdist_checkpoint_save(checkpoint, 4, NULL, &error));
    OK(mdist_checkpoint_latest(folder, &latest, &error));
    assert_int_equal(latest, 4);
    remove_file(folder, "checkpoint-012.safetensors");
    remove_file(folder, "checkpoint-11.safetensors.old");
    expect_files(folder,
                 "checkpoint-10.safetensors checkpoint-2.safetensors checkpoint-4.safetensors "
                 "checkpoint-9.safetensors checkpoints.json");
    // A list of files that are gone is no list.
    remove_file(folder, "checkpoint-4.safetensors");
    OK(mdist_checkpoint_latest(folder, &latest, &error));
    assert_int_equal(latest, 10);
    // A damaged file is told, as with a list. No older one takes its place.
    write_content(folder, "checkpoint-10.safetensors", "10", 2);
    FAILS(MDIST_ERR_DATA_LOSS, mdist_checkpoint_restore(checkpoint, MDIST_LATEST, NULL, NULL, &error));
    OK(mdist_checkpoint_clear(checkpoint, NULL, &error));
    expect_files(folder, "");
    destroy_all(strategy, checkpoint, &v, 1);
}

static void what_is_cleared_is_gone_and_the_next_save_begins_anew(void **state) {
    const char *const folder = *state;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_checkpoint_t *checkpoint = NULL;
    mdist_error_t *error = NULL;
    uint64_t number = 0;
    char none[512];
    snprintf(none, sizeof none, "%s/none", folder);
    OK(mdist_checkpoint_create(strategy, none, 2, &checkpoint, &error));
    OK(mdist_checkpoint_clear(checkpoint, NULL, &error)); // the folder does not exist and is not created
    mdist_checkpoint_destroy(checkpoint);
    expect_files(folder, "");
    OK(mdist_checkpoint_create(strategy, folder, 2, &checkpoint, &error));
    for (uint64_t i = 1; i <= 3; ++i) OK(mdist_checkpoint_save(checkpoint, i, NULL, &error));
    char other[512];
    snprintf(other, sizeof other, "%s/checkpoint-9.safetensors.mine", folder);
    fclose(fopen(other, "w"));
    OK(mdist_checkpoint_clear(checkpoint, NULL, &error));
    expect_files(folder, "checkpoint-9.safetensors.mine"); // a foreign file is not removed
    FAILS(MDIST_ERR_NOT_FOUND, mdist_checkpoint_latest(folder, &number, &error));
    OK(mdist_checkpoint_clear(checkpoint, NULL, &error));
    OK(mdist_checkpoint_save(checkpoint, 1, NULL, &error));
    OK(mdist_checkpoint_latest(folder, &number, &error));
    assert_int_equal(number, 1);
    mdist_checkpoint_destroy(checkpoint);
    mdist_strategy_destroy(strategy);
}

static void other_variables_than_the_files_are_named_and_nothing_changes(void **state) {
    char *const folder = *state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_variable_t *saved[] = {scalar_variable(strategy, "a", 1, W, NONE),
                                 scalar_variable(strategy, "b", 2, W, NONE)};
    mdist_checkpoint_t *checkpoint = checkpoint_of(strategy, folder, 0, saved, 2);
    OK(mdist_checkpoint_save(checkpoint, 1, NULL, &error));
    destroy_all(NULL, checkpoint, saved, 2);

    mdist_variable_t *wanted[] = {scalar_variable(strategy, "b", 7, W, NONE),
                                  scalar_variable(strategy, "c", 8, W, NONE)};
    checkpoint = checkpoint_of(strategy, folder, 0, wanted, 2);
    assert_int_equal(mdist_checkpoint_restore(checkpoint, 1, NULL, NULL, &error), MDIST_ERR_MISMATCH);
    WORDS(error, "1 missing in the file: \"c\"; 1 only in the file: \"a\"");
    assert_string_equal(mdist_error_reason(error), "different_variables");
    mdist_error_free(error);
    expect_copies(wanted[0], 7, 7);
    const mdist_restore_options_t partial = {sizeof partial, MDIST_RESTORE_PARTIAL, 0};
    OK(mdist_checkpoint_restore(checkpoint, 1, NULL, &partial, &error));
    expect_copies(wanted[0], 2, 2);
    expect_copies(wanted[1], 8, 8);
    destroy_all(NULL, checkpoint, wanted, 2);

    // A partial restore allows other names, but not another dtype or shape.
    int32_t three[3] = {1, 2, 3};
    const mdist_tensor_t longer = tensor_of(three, MDIST_INT32, 3);
    mdist_variable_t *different[] = {scalar_variable(strategy, "a", 7, W, NONE), NULL};
    OK(mdist_variable_create(strategy, "b", &longer, &different[1], NULL, &error));
    checkpoint = checkpoint_of(strategy, folder, 0, different, 2);
    assert_int_equal(mdist_checkpoint_restore(checkpoint, 1, NULL, &partial, &error), MDIST_ERR_MISMATCH);
    WORDS(error, "\"b\", a variable int32 [3] and a tensor float32 []");
    mdist_error_free(error);
    expect_copies(different[0], 7, 7);
    destroy_all(strategy, checkpoint, different, 2);
}

static void arguments_are_checked(void **state) {
    char *const folder = *state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(1, NULL), *other = make_strategy(1, NULL);
    mdist_variable_t *v = scalar_variable(strategy, "v", 1, W, NONE),
                     *foreign = scalar_variable(other, "f", 1, W, NONE);
    mdist_checkpoint_t *checkpoint = checkpoint_of(strategy, folder, 0, &v, 1);
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_checkpoint_create(strategy, "", 0, &checkpoint, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_checkpoint_add(checkpoint, "v", v, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_checkpoint_add(checkpoint, "", v, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_checkpoint_add(checkpoint, "\xff", v, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_checkpoint_add(checkpoint, "__metadata__", v, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_checkpoint_add(checkpoint, NULL, foreign, &error));
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_checkpoint_add(checkpoint, NULL, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_checkpoint_save(checkpoint, MDIST_LATEST, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_checkpoint_restore(checkpoint, UINT64_MAX, NULL, NULL, &error));
    const mdist_restore_options_t unknown = {sizeof unknown, 2, 0};
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_checkpoint_restore(checkpoint, 1, NULL, &unknown, &error));
    FAILS(MDIST_ERR_NOT_FOUND, mdist_checkpoint_restore(checkpoint, 1, NULL, NULL, &error));
    uint64_t number;
    FAILS(MDIST_ERR_NOT_FOUND, mdist_checkpoint_latest("/nowhere/at/all", &number, &error));
    OK(mdist_checkpoint_add(checkpoint, "v again", v, &error));
    OK(mdist_checkpoint_save(checkpoint, 0x7ffffffffffffeff, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_checkpoint_save(checkpoint, MDIST_FOREVER, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_checkpoint_restore(checkpoint, MDIST_FOREVER, NULL, NULL, &error));
    mdist_checkpoint_destroy(checkpoint);
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_checkpoint_save(checkpoint, 1, NULL, &error));
    destroy_all(other, NULL, &foreign, 1);
    destroy_all(strategy, NULL, &v, 1);
}

static void a_checkpoint_keeps_variables_and_works_after_the_collectives_have_ended(void **state) {
    char *const folder = *state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_variable_t *v = scalar_variable(strategy, "v", 3, W, NONE);
    mdist_checkpoint_t *checkpoint = checkpoint_of(strategy, folder, 0, &v, 1);
    mdist_variable_destroy(v);
    mdist_strategy_abort(strategy);
    OK(mdist_checkpoint_save(checkpoint, 1, NULL, &error));
    OK(mdist_checkpoint_restore(checkpoint, 1, NULL, NULL, &error));
    destroy_all(strategy, checkpoint, NULL, 0);
}

static void a_folder_that_somebody_saves_to_is_busy(void **state) {
    char *const folder = *state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    mdist_checkpoint_t *checkpoint = checkpoint_of(strategy, folder, 0, NULL, 0);
    const int other = open(folder, O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(mdist_checkpoint_save(checkpoint, 1, NULL, &error), MDIST_ERR_FAILED_PRECONDITION);
    assert_string_equal(mdist_error_reason(error), "busy");
    mdist_error_free(error);
    close(other);
    write_content(folder, ".checkpoint-7.safetensors.new", "half", 4); // as a crash would leave it
    OK(mdist_checkpoint_save(checkpoint, 1, NULL, &error));
    expect_files(folder, "checkpoint-1.safetensors checkpoints.json");
    destroy_all(strategy, checkpoint, NULL, 0);
}

/// Flips each bit, then cuts the file at each length. Restoring must fail with DATA_LOSS and leave the variables alone.
static void every_flipped_bit_and_every_cut_is_found(void **state) {
    char *const folder = *state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    float numbers[20] = {1, 2, 3};
    const mdist_tensor_t tensor = tensor_of(numbers, MDIST_FLOAT32, 20);
    mdist_variable_t *variables[] = {NULL, scalar_variable(strategy, "s", 5, W, NONE)};
    OK(mdist_variable_create(strategy, "v", &tensor, &variables[0], NULL, &error));
    mdist_checkpoint_t *checkpoint = checkpoint_of(strategy, folder, 0, variables, 2);
    OK(mdist_checkpoint_set_text(checkpoint, "step", "1", &error));
    OK(mdist_checkpoint_save(checkpoint, 1, NULL, &error));
    Content whole = read_content(folder, "checkpoint-1.safetensors");
    const size_t step = is_long() ? 1 : 3; // 3 reaches each bit of a byte in turn
    for (size_t bit = 0; bit < 8 * whole.size; bit += step) {
        whole.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        write_content(folder, "checkpoint-1.safetensors", whole.bytes, whole.size);
        whole.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        set_copies(variables[1], 9, 0);
        const mdist_status_t status = mdist_checkpoint_restore(checkpoint, 1, NULL, NULL, NULL);
        if (status != MDIST_ERR_DATA_LOSS || copy_of(variables[1], 0) != 9)
            fail_msg("bit %zu of %zu bytes gives %s", bit, whole.size, mdist_status_name(status));
    }
    for (size_t size = 0; size < whole.size; ++size) {
        write_content(folder, "checkpoint-1.safetensors", whole.bytes, size);
        FAILS(MDIST_ERR_DATA_LOSS, mdist_checkpoint_restore(checkpoint, 1, NULL, NULL, &error));
    }
    write_content(folder, "checkpoint-1.safetensors", whole.bytes, whole.size);
    OK(mdist_checkpoint_restore(checkpoint, MDIST_LATEST, NULL, NULL, &error));
    free(whole.bytes);

    whole = read_content(folder, "checkpoints.json");
    for (size_t bit = 0; bit < 8 * (whole.size - 1); ++bit) { // except the final line feed
        whole.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        write_content(folder, "checkpoints.json", whole.bytes, whole.size);
        whole.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        FAILS(MDIST_ERR_DATA_LOSS, mdist_checkpoint_restore(checkpoint, MDIST_LATEST, NULL, NULL, &error));
    }
    OK(mdist_checkpoint_restore(checkpoint, 1, NULL, NULL, &error)); // needs no list
    free(whole.bytes);
    destroy_all(strategy, checkpoint, variables, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(every_dtype_and_shape_comes_back_on_every_number_of_replicas),
        IN_A_FOLDER(sync_on_read_variables_are_saved_reduced_and_restored_divided),
        IN_A_FOLDER(a_value_saved_by_one_replica_is_divided_over_the_copies_of_a_sum),
        IN_A_FOLDER(a_variable_without_aggregation_cannot_be_saved_but_restored),
        IN_A_FOLDER(texts_are_saved_along_and_replaced_by_those_of_the_file),
        IN_A_FOLDER(the_latest_is_the_one_saved_last_and_only_so_many_are_kept),
        IN_A_FOLDER(without_a_list_the_highest_number_is_the_latest),
        IN_A_FOLDER(what_is_cleared_is_gone_and_the_next_save_begins_anew),
        IN_A_FOLDER(other_variables_than_the_files_are_named_and_nothing_changes),
        IN_A_FOLDER(arguments_are_checked),
        IN_A_FOLDER(a_checkpoint_keeps_variables_and_works_after_the_collectives_have_ended),
        IN_A_FOLDER(a_folder_that_somebody_saves_to_is_busy),
        IN_A_FOLDER(every_flipped_bit_and_every_cut_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

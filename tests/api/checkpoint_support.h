// SPDX-License-Identifier: Apache-2.0
// Runs tests in a folder of their own, and has helpers for checkpoints and files.
#pragma once

#include "variable_support.h"

#include <dirent.h>
#include <unistd.h>

/// A test whose state is the path of an empty folder.
#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

MDIST_TEST_HELPER int make_folder(void **state) {
    char path[] = "/tmp/mdist-checkpoint-XXXXXX";
    if (mkdtemp(path) == NULL) return -1;
    *state = strdup(path);
    return *state == NULL ? -1 : 0;
}

/// Writes the names of the files in the folder, sorted, with spaces between them.
MDIST_TEST_HELPER void list_folder(const char *folder, char *text, size_t capacity) {
    struct dirent **names;
    const int count = scandir(folder, &names, NULL, alphasort);
    text[0] = '\0';
    for (int i = 0; i < count; ++i) {
        const size_t length = strlen(text);
        if (strcmp(names[i]->d_name, ".") != 0 && strcmp(names[i]->d_name, "..") != 0)
            snprintf(text + length, capacity - length, "%s%s", length == 0 ? "" : " ", names[i]->d_name);
        free(names[i]);
    }
    if (count >= 0) free(names);
}

MDIST_TEST_HELPER void expect_files(const char *folder, const char *wanted) {
    char text[1024];
    list_folder(folder, text, sizeof text);
    assert_string_equal(text, wanted);
}

MDIST_TEST_HELPER void remove_file(const char *folder, const char *name) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
}

MDIST_TEST_HELPER int remove_folder(void **state) {
    char text[4096];
    list_folder(*state, text, sizeof text);
    for (char *name = strtok(text, " "); name != NULL; name = strtok(NULL, " ")) remove_file(*state, name);
    const int result = rmdir(*state);
    free(*state);
    return result;
}

typedef struct Content {
    unsigned char *bytes;
    size_t size;
} Content;

MDIST_TEST_HELPER Content read_content(const char *folder, const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *const file = fopen(path, "rb");
    assert_non_null(file);
    Content content = {malloc(1 << 20), 0};
    assert_non_null(content.bytes);
    content.size = fread(content.bytes, 1, 1 << 20, file);
    fclose(file);
    return content;
}

MDIST_TEST_HELPER void write_content(const char *folder, const char *name, const void *bytes, size_t size) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

MDIST_TEST_HELPER mdist_checkpoint_t *checkpoint_of(mdist_strategy_t *strategy, const char *folder, uint32_t keep,
                                                    mdist_variable_t *const *variables, size_t count) {
    mdist_error_t *error = NULL;
    mdist_checkpoint_t *checkpoint = NULL;
    OK(mdist_checkpoint_create(strategy, folder, keep, &checkpoint, &error));
    for (size_t i = 0; i < count; ++i) OK(mdist_checkpoint_add(checkpoint, NULL, variables[i], &error));
    return checkpoint;
}

MDIST_TEST_HELPER void destroy_all(mdist_strategy_t *strategy, mdist_checkpoint_t *checkpoint,
                                   mdist_variable_t *const *variables, size_t count) {
    mdist_checkpoint_destroy(checkpoint);
    for (size_t i = 0; i < count; ++i) mdist_variable_destroy(variables[i]);
    mdist_strategy_destroy(strategy);
}

/// Sets the copies of a scalar float variable. With one replica, ignores `second`.
MDIST_TEST_HELPER void set_copies(mdist_variable_t *variable, float first, float second) {
    const float numbers[] = {first, second};
    for (uint32_t replica = 0; replica < 2; ++replica) {
        mdist_tensor_t tensor;
        if (mdist_variable_tensor(variable, replica, &tensor, NULL) != MDIST_OK) return;
        memcpy(tensor.data, &numbers[replica], sizeof numbers[replica]);
    }
}

// SPDX-License-Identifier: Apache-2.0
// What every test of the API needs: cmocka with its includes in order, checks that print an error's message, and short
// ways to make a strategy, a tensor and a value.
// A check that fails leaves by longjmp. So use checks only on the main thread, and never in a callback. In callbacks
// and on other threads, note() what went wrong and assert the note afterwards.
#pragma once

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#include <cmocka.h> // has no extern "C" of its own
#ifdef __cplusplus
}
#endif
// clang-format on

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mdist/mdist.h>

#include "random.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MDIST_TEST_HELPER static inline __attribute__((unused))

/// CHECK(MDIST_OK, mdist_run(..., &error), error) checks the status. If there is an error, it checks that the error has
/// the same status, and frees it.
#define CHECK(wanted, call, error)                                                 \
    do {                                                                           \
        (error) = NULL;                                                            \
        const mdist_status_t check_status = (call);                                \
        expect_status((wanted), check_status, (error), #call, __FILE__, __LINE__); \
        mdist_error_free(error);                                                   \
        (error) = NULL;                                                            \
    } while (0)

/// OK(mdist_config_create(&config, &error)) checks for MDIST_OK. A variable `error` must be in scope.
#define OK(call) CHECK(MDIST_OK, call, error)
#define FAILS(wanted, call) CHECK(wanted, call, error)

MDIST_TEST_HELPER void expect_status(mdist_status_t wanted, mdist_status_t status, const mdist_error_t *error,
                                     const char *call, const char *file, int line) {
    if (status == wanted && (status >= 0) == (error == NULL) && mdist_error_status(error) == (status < 0 ? status : 0))
        return;
    print_error("%s:%d: %s\n  gave %s, not %s; the error says %s: %s\n", file, line, call, mdist_status_name(status),
                mdist_status_name(wanted), mdist_status_name(mdist_error_status(error)), mdist_error_message(error));
    _fail(file, line);
}

MDIST_TEST_HELPER void say_nothing(mdist_log_level_t level, const char *text, size_t length, void *user_data) {
    (void)level, (void)text, (void)length, (void)user_data;
}

/// Quiets the log, for tests that provoke failures which the library would log to stderr one by one.
MDIST_TEST_HELPER void quiet_log(void) {
    mdist_log_set_sink(say_nothing, NULL, NULL, NULL);
}

/// Checks that the message contains the words. If not, the test fails and prints the message.
MDIST_TEST_HELPER void expect_words(const mdist_error_t *error, const char *words, const char *file, int line) {
    if (strstr(mdist_error_message(error), words) != NULL) return;
    print_error("%s:%d: no \"%s\" in: %s\n", file, line, words, mdist_error_message(error));
    _fail(file, line);
}
#define WORDS(error, words) expect_words((error), (words), __FILE__, __LINE__)

/// A note of the first thing that went wrong, where nothing may be asserted. Use one per thread, or guard it with a
/// lock.
typedef struct Note {
    char text[512];
} Note;

/// note(&self, MDIST_OK, mdist_barrier(replica, NULL, &error), &error, "barrier") notes a status that is not as wanted.
/// Returns 1 if it did. Frees and clears the error.
MDIST_TEST_HELPER int32_t note(Note *self, mdist_status_t wanted, mdist_status_t status, mdist_error_t **error,
                               const char *what) {
    const int wrong = status != wanted || (status < 0) != (*error != NULL);
    if (wrong && self->text[0] == '\0')
        snprintf(self->text, sizeof self->text, "%s gave %s, not %s: %s", what, mdist_status_name(status),
                 mdist_status_name(wanted), mdist_error_message(*error));
    mdist_error_free(*error);
    *error = NULL;
    return wrong;
}

/// Tells whether the tests run on GPUs (logical devices of a simulated one). Suite gpu runs them again that way.
MDIST_TEST_HELPER int on_gpus(void) {
    const char *device = getenv("MDIST_TEST_DEVICE");
    return device != NULL && strcmp(device, "gpu") == 0;
}

/// Tells whether the message contains the words. On GPUs, the message has "on the GPU" before the colon.
MDIST_TEST_HELPER int shows_call(const char *message, const char *words) {
    char there[128];
    const char *const colon = strchr(words, ':');
    if (!on_gpus() || colon == NULL) return strstr(message, words) != NULL;
    snprintf(there, sizeof there, "%.*s on the GPU%s", (int)(colon - words), words, colon);
    return strstr(message, there) != NULL;
}

/// Sets the devices of the replicas: CPUs, or logical devices of one GPU. On the GPU, functions wait for their work, so
/// that a step may look at its memory at once.
MDIST_TEST_HELPER void set_devices(mdist_config_t *config, uint32_t replicas) {
    mdist_error_t *error = NULL;
    char devices[32];
    snprintf(devices, sizeof devices, on_gpus() ? replicas > 1 ? "gpu:0*%u" : "gpu:0" : "cpu*%u", (unsigned)replicas);
    OK(mdist_config_set(config, "devices", devices, &error));
    if (on_gpus()) OK(mdist_config_set(config, "gpu.blocking", "true", &error));
}

/// Returns the name of the device of replica `local`, which must be one of the first four.
MDIST_TEST_HELPER const char *device_name(uint32_t local) {
    static const char *const cpus[] = {"cpu:0", "cpu:1", "cpu:2", "cpu:3"};
    static const char *const gpus[] = {"gpu:0", "gpu:0/1", "gpu:0/2", "gpu:0/3"};
    return on_gpus() ? gpus[local] : cpus[local];
}

/// Makes a strategy of `replicas` replicas, on the CPU unless MDIST_TEST_DEVICE is gpu. `executor` is "threads",
/// "caller", or NULL for the default.
MDIST_TEST_HELPER mdist_strategy_t *make_strategy(uint32_t replicas, const char *executor) {
    mdist_error_t *error = NULL;
    mdist_config_t *config = NULL;
    mdist_strategy_t *strategy = NULL;
    OK(mdist_config_create(&config, &error));
    set_devices(config, replicas);
    if (executor != NULL) OK(mdist_config_set(config, "executor", executor, &error));
    OK(mdist_strategy_create(config, &strategy, &error));
    mdist_config_destroy(config);
    return strategy;
}

/// Describes the caller's memory as a tensor of one dimension, or as a scalar if `elements` is 0.
MDIST_TEST_HELPER mdist_tensor_t tensor_of(void *data, mdist_dtype_t dtype, uint64_t elements) {
    mdist_tensor_t tensor;
    memset(&tensor, 0, sizeof tensor);
    tensor.data = data;
    tensor.dtype = (int32_t)dtype;
    tensor.rank = elements == 0 ? 0 : 1;
    tensor.shape[0] = elements;
    return tensor;
}

MDIST_TEST_HELPER mdist_buffer_t buffer_of(void *data, mdist_dtype_t dtype, uint64_t elements) {
    mdist_buffer_t buffer;
    memset(&buffer, 0, sizeof buffer);
    buffer.data = data;
    buffer.dtype = (int32_t)dtype;
    buffer.elements = elements;
    return buffer;
}

MDIST_TEST_HELPER mdist_value_t *make_value(void *data, mdist_dtype_t dtype, uint64_t elements) {
    mdist_error_t *error = NULL;
    mdist_value_t *value = NULL;
    const mdist_tensor_t tensor = tensor_of(data, dtype, elements);
    OK(mdist_value_create(&tensor, &value, &error));
    return value;
}

#ifdef __cplusplus
}
#endif

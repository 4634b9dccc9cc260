/* SPDX-License-Identifier: Apache-2.0 */
/* The real GPU module without a driver: it loads, says why there are no GPUs, and leaves nothing behind. */
#include <dirent.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/gpu/module.h"

static const mdist_gpu_module *module;

static int entries(const char *folder) {
    int count = 0;
    DIR *opened = opendir(folder);
    while (opened != NULL && readdir(opened) != NULL) ++count;
    if (opened != NULL) closedir(opened);
    return count;
}

static int load(void **state) {
    (void)state;
    void *library = dlopen(MDIST_TEST_MODULE, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return 1;
    mdist_gpu_module_fn ask = NULL;
    *(void **)&ask = dlsym(library, MDIST_GPU_MODULE_SYMBOL);
    if (ask != NULL) module = ask();
    return module == NULL;
}

static void the_tables_are_full(void **state) {
    (void)state;
    assert_int_equal(module->abi, MDIST_GPU_MODULE_ABI);
    assert_int_equal(module->size, sizeof(mdist_gpu_module));
    assert_int_equal(module->gpu->kind_size, sizeof(mdist_gpu_api));
    const char *const begin = (const char *)&module->gpu->kind;
    const char *const end = (const char *)(module->gpu + 1);
    for (const char *at = begin; at < end; at += sizeof(void *)) {
        void *function;
        memcpy(&function, at, sizeof function);
        assert_non_null(function);
    }
}

static void without_a_driver_there_is_no_device_and_nothing_is_left(void **state) {
    (void)state;
    const int files = entries("/proc/self/fd");
    const int threads = entries("/proc/self/task");
    int32_t count = 77;
    const int error = module->gpu->device_count(&count);
    if (error == 0) skip();
    assert_int_equal(module->gpu->kind(error), MDIST_GPU_NO_DEVICE);
    assert_int_equal(count, 0);
    assert_true(strlen(module->gpu->text(error)) > 10);
    assert_int_equal(entries("/proc/self/fd"), files);
    assert_int_equal(entries("/proc/self/task"), threads);
}

static void without_a_driver_everything_fails_alike(void **state) {
    (void)state;
    const mdist_gpu_api *gpu = module->gpu;
    int32_t count = 0;
    if (gpu->device_count(&count) == 0) skip();
    void *memory = &count;
    assert_int_equal(gpu->kind(gpu->allocate(0, 64, &memory)), MDIST_GPU_NO_DEVICE);
    assert_null(memory);
    mdist_gpu_stream *stream = (mdist_gpu_stream *)&count;
    assert_int_equal(gpu->kind(gpu->stream_create(0, 0, &stream)), MDIST_GPU_NO_DEVICE);
    assert_null(stream);
    const mdist_gpu_stretch stretch = {&count, &memory, 4};
    assert_int_equal(gpu->kind(gpu->copy_many(0, &stretch, 1, NULL)), MDIST_GPU_NO_DEVICE);
    assert_int_equal(gpu->kind(gpu->spin(0, 1, NULL)), MDIST_GPU_NO_DEVICE);
    assert_int_equal(gpu->kind(gpu->allocate_pinned(64, &memory)), MDIST_GPU_NO_DEVICE);
    int32_t kind = -1;
    int32_t device = 5;
    gpu->memory_kind(&count, &kind, &device);
    assert_int_equal(kind, MDIST_GPU_MEMORY_HOST);
    assert_int_equal(device, -1);
}

static void looking_for_nccl_opens_and_starts_nothing(void **state) {
    (void)state;
    const int files = entries("/proc/self/fd");
    const int threads = entries("/proc/self/task");
    const char *reason = NULL;
    const mdist_nccl_api *nccl = module->nccl(&reason);
    assert_non_null(reason);
    assert_true(nccl == module->nccl(&reason));
    if (nccl == NULL) {
        assert_true(strlen(reason) > 10);
    } else {
        assert_int_equal(nccl->kind_size, sizeof(mdist_nccl_api));
        assert_true(nccl->version >= 21800);
        assert_int_equal(nccl->kind(0), MDIST_GPU_OK);
        assert_true(strlen(nccl->text(1)) > 0);
    }
    assert_int_equal(entries("/proc/self/fd"), files);
    assert_int_equal(entries("/proc/self/task"), threads);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tables_are_full),
        cmocka_unit_test(without_a_driver_there_is_no_device_and_nothing_is_left),
        cmocka_unit_test(without_a_driver_everything_fails_alike),
        cmocka_unit_test(looking_for_nccl_opens_and_starts_nothing),
    };
    return cmocka_run_group_tests(tests, load, NULL);
}

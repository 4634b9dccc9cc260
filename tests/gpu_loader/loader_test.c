// SPDX-License-Identifier: Apache-2.0
// A GPU module that is missing, broken, from another build, or finds no GPU. The library then has no GPUs, says why,
// and leaves nothing behind. Each case has a process of its own, since a module is loaded once.
#include "mdist_test.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kText = 1000 };

typedef struct Case {
    const char *module; // MDIST_CUDA_MODULE; NULL: not set
    const char *fake;   // MDIST_FAKE_GPU, or NULL
    uint32_t count;
    const char *says;  // the text must contain this
    const char *lacks; // the text must not contain this; may be NULL
    int nccl;
} Case;

static int entries_of(const char *folder) {
    int count = 0;
    DIR *open_folder = opendir(folder);
    while (open_folder != NULL && readdir(open_folder) != NULL) ++count;
    if (open_folder != NULL) closedir(open_folder);
    return count;
}

/// Runs in a child. Returns 0, or the number of the line that failed.
static int try_case(const Case *wanted) {
    char text[kText] = "unset";
    uint32_t count = 7;
    size_t needed = 0;
    setenv("MDIST_FAKE_GPU", wanted->fake == NULL ? "" : wanted->fake, 1);
    if (wanted->module != NULL) setenv("MDIST_CUDA_MODULE", wanted->module, 1);
    if (wanted->module == NULL) unsetenv("MDIST_CUDA_MODULE");
    const int descriptors = entries_of("/proc/self/fd"), threads = entries_of("/proc/self/task");
    if (mdist_gpu_count(&count, text, sizeof text, &needed, NULL) != MDIST_OK) return __LINE__;
    if (count != wanted->count || needed != strlen(text) + 1) return __LINE__;
    if (strstr(text, wanted->says) == NULL || (wanted->lacks != NULL && strstr(text, wanted->lacks) != NULL))
        return fprintf(stderr, "it says: %s\n", text), __LINE__;
    if (mdist_has("cuda") != (count != 0) || mdist_has("nccl") != wanted->nccl) return __LINE__;
    if (entries_of("/proc/self/fd") != descriptors || entries_of("/proc/self/task") != threads) return __LINE__;
    return 0;
}

static int in_child(int (*body)(const Case *), const Case *wanted) {
    const pid_t child = fork();
    if (child == 0) {
        const int line = body(wanted);
        if (line != 0) fprintf(stderr, "line %d\n", line);
        _exit(line != 0);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void expect(const char *module, const char *fake, uint32_t count, const char *says) {
    const Case wanted = {module, fake, count, says, NULL, 0};
    assert_int_equal(in_child(try_case, &wanted), 0);
}

#define DUMMY(name) MDIST_TEST_FOLDER "/libdummy-" name ".so"
#define FAKE MDIST_TEST_FAKE_GPU

static void without_a_module_there_are_no_gpus(void **state) {
    (void)state;
    expect("/nowhere/module.so", NULL, 0, "MDIST_CUDA_MODULE names /nowhere/module.so, which does not exist");
    expect("/etc", NULL, 0, "/etc");
}

static void a_path_must_be_absolute(void **state) {
    (void)state;
    assert_int_equal(chdir(MDIST_TEST_FOLDER), 0);
    expect("libdummy-abi.so", NULL, 0, "\"libdummy-abi.so\", which is not an absolute path");
    expect("./libdummy-abi.so", NULL, 0, "not an absolute path");
}

static void what_is_no_module_is_refused(void **state) {
    (void)state;
    expect("/etc/passwd", NULL, 0, "/etc/passwd: ");
    expect(DUMMY("no_symbol"), NULL, 0, "has no symbol mdist_gpu_module");
    expect(DUMMY("nothing"), NULL, 0, "does not match this libmdist: it does not offer an interface");
}

static void a_module_of_another_build_is_refused(void **state) {
    (void)state;
    expect(DUMMY("abi"), NULL, 0, "does not match this libmdist: its interface has version 99, this library's has ");
    expect(DUMMY("size"), NULL, 0, "does not match this libmdist: its description has 8 bytes, this library's has ");
    expect(DUMMY("table_size"), NULL, 0, "does not match this libmdist: its table has 16 bytes, this library's has ");
    expect(DUMMY("version"), NULL, 0, "does not match this libmdist: it was built with libmdist 0.0.9, this is 0.3.0");
}

static void drivers_without_gpus_are_told_apart(void **state) {
    (void)state;
    expect(FAKE, "no_device=34", 0, "the only driver found is CUDA's stub");
    expect(FAKE, "no_device=35", 0, "there is no NVIDIA driver, or one too old");
    expect(FAKE, "no_device=100", 0, "the driver finds no GPU");
    expect(FAKE, "no_device=999", 0, "GPUs cannot be used (fakeErrorUnknown: unknown error, 999)");
    expect(FAKE, "devices=0", 0, "the driver finds no GPU");
}

static void gpus_are_described(void **state) {
    (void)state;
    const Case all = {FAKE, "devices=3", 3, "gpu:2: Fake GPU, 1024 MiB, at 0000:03:00.0", "no NCCL", 1};
    assert_int_equal(in_child(try_case, &all), 0);
    expect(FAKE, "devices=2,nccl=none", 2, "no NCCL: libnccl.so.2 was not found");
    expect(FAKE, "devices=2,nccl=21003", 2, "no NCCL: NCCL is too old; 2.18 or later is needed");
    const Case newer = {FAKE, "nccl=23001", 2, "NCCL 2.30.1", NULL, 1};
    assert_int_equal(in_child(try_case, &newer), 0);
    const Case failing = {FAKE, "devices=2,fail=device_info@2", 2, "gpu:1: fakeErrorUnknown", NULL, 1};
    assert_int_equal(in_child(try_case, &failing), 0);
}

static void text_is_cut_where_it_must_be(void **state) {
    (void)state;
    char text[6] = "";
    uint32_t count = 7;
    setenv("MDIST_CUDA_MODULE", "/nowhere/module.so", 1);
    assert_int_equal(mdist_gpu_count(&count, text, sizeof text, NULL, NULL), MDIST_OK);
    assert_string_equal(text, "MDIST");
    assert_int_equal(count, 0);
    assert_int_equal(mdist_gpu_count(NULL, NULL, 0, NULL, NULL), MDIST_ERR_INVALID_ARGUMENT);
}

static void *count_gpus(void *out) {
    return mdist_gpu_count((uint32_t *)out, NULL, 0, NULL, NULL) == MDIST_OK ? NULL : out;
}

static int count_on_threads(const Case *wanted) {
    enum { kThreads = 8 };
    uint32_t counts[kThreads] = {0};
    pthread_t threads[kThreads];
    setenv("MDIST_FAKE_GPU", wanted->fake, 1);
    setenv("MDIST_CUDA_MODULE", wanted->module, 1);
    for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, count_gpus, &counts[i]);
    int wrong = 0;
    for (int i = 0; i < kThreads; ++i) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        if (failed != NULL || counts[i] != wanted->count) wrong = __LINE__;
    }
    return wrong;
}

static void threads_that_come_together_find_the_same(void **state) {
    (void)state;
    const Case wanted = {FAKE, "devices=3", 3, "", NULL, 1};
    for (int i = 0; i < 10; ++i) assert_int_equal(in_child(count_on_threads, &wanted), 0);
}

/// Whether the file of the module is mapped into this process.
static int is_loaded(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[kText];
    int found = 0;
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) found |= strstr(line, "libmdist-fake-gpu") != NULL;
    if (maps != NULL) fclose(maps);
    return found;
}

static int32_t add_up(mdist_replica_t *replica, void *user_data) {
    float one = 1;
    (void)user_data;
    const mdist_buffer_t buffer = {&one, 1, MDIST_FLOAT32, 0};
    return mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL) != MDIST_OK || one != 2;
}

static int run_on_the_cpu(const Case *wanted) {
    setenv("MDIST_CUDA_MODULE", wanted->module, 1);
    mdist_config_t *config = NULL;
    mdist_strategy_t *strategy = NULL;
    if (mdist_config_create(&config, NULL) != MDIST_OK) return __LINE__;
    if (mdist_config_set(config, "devices", "cpu*2", NULL) != MDIST_OK) return __LINE__;
    if (mdist_strategy_create(config, &strategy, NULL) != MDIST_OK) return __LINE__;
    if (mdist_run(strategy, add_up, NULL, NULL, NULL) != MDIST_OK) return __LINE__;
    mdist_strategy_destroy(strategy);
    mdist_config_destroy(config);
    if (is_loaded()) return __LINE__;
    return mdist_has("cuda") == 1 && is_loaded() ? 0 : __LINE__;
}

static void nobody_loads_it_but_who_wants_gpus(void **state) {
    (void)state;
    const Case wanted = {FAKE, NULL, 2, "", NULL, 1};
    assert_int_equal(in_child(run_on_the_cpu, &wanted), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_module_there_are_no_gpus),
        cmocka_unit_test(a_path_must_be_absolute),
        cmocka_unit_test(what_is_no_module_is_refused),
        cmocka_unit_test(a_module_of_another_build_is_refused),
        cmocka_unit_test(drivers_without_gpus_are_told_apart),
        cmocka_unit_test(gpus_are_described),
        cmocka_unit_test(threads_that_come_together_find_the_same),
        cmocka_unit_test(nobody_loads_it_but_who_wants_gpus),
        cmocka_unit_test(text_is_cut_where_it_must_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

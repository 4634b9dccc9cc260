// SPDX-License-Identifier: Apache-2.0
// The list of configuration keys: each key can be set by its name and by its environment variable. Before that it reads
// as its default.
#include "mdist_test.h"

static mdist_error_t *error;

static mdist_config_key_t key_at(size_t index) {
    mdist_config_key_t key = {.struct_size = sizeof key};
    OK(mdist_config_key_describe(index, &key, &error));
    return key;
}

static mdist_config_t *new_config(void) {
    mdist_config_t *config = NULL;
    OK(mdist_config_create(&config, &error));
    return config;
}

static void assert_reads(const mdist_config_t *config, const char *name, const char *expected) {
    char text[128];
    OK(mdist_config_get(config, name, text, sizeof text, NULL, &error));
    assert_string_equal(text, expected);
}

/// Returns a value of each kind; "" for choices, which list their values themselves.
static const char *value_of_kind(const char *kind) {
    static const char *const values[][2] = {
        {"choice", ""},         {"duration", "7s"},
        {"size", "64KiB"},      {"count", "3"},
        {"text", "a b "},       {"devices", "cpu:1,cpu:2"},
        {"address", "h:1"},     {"addresses", "h:1,i:2"},
        {"ports", "5000-5100"}, {"endpoint", "10.0.0.5:5000"},
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; ++i)
        if (strcmp(values[i][0], kind) == 0) return values[i][1];
    print_error("\"%s\" is not a known kind\n", kind);
    fail();
    return NULL;
}

static void assert_takes(const mdist_config_key_t *key, const char *value) {
    mdist_config_t *config = new_config();
    OK(mdist_config_set(config, key->name, value, &error));
    assert_reads(config, key->name, value);
    mdist_config_destroy(config);

    config = new_config();
    assert_int_equal(setenv(key->environment, value, 1), 0);
    OK(mdist_config_load_environment(config, &error));
    unsetenv(key->environment);
    assert_reads(config, key->name, value);
    mdist_config_destroy(config);
}

static void every_key_reads_as_its_default(void **state) {
    (void)state;
    mdist_config_t *config = new_config();
    assert_true(mdist_config_key_count() > 20);
    for (size_t i = 0; i < mdist_config_key_count(); ++i) assert_reads(config, key_at(i).name, key_at(i).default_text);
    mdist_config_destroy(config);
}

static void every_key_takes_its_kind_by_name_and_by_variable(void **state) {
    (void)state;
    for (size_t i = 0; i < mdist_config_key_count(); ++i) {
        const mdist_config_key_t key = key_at(i);
        const char *value = value_of_kind(key.kind);
        assert_int_equal(*value == '\0', *key.choices != '\0');
        if (*value != '\0') assert_takes(&key, value);
        char choices[128];
        snprintf(choices, sizeof choices, "%s", key.choices);
        for (char *word = strtok(choices, ", "); word != NULL; word = strtok(NULL, ", ")) assert_takes(&key, word);
    }
}

static void help_is_one_short_sentence(void **state) {
    (void)state;
    for (size_t i = 0; i < mdist_config_key_count(); ++i) {
        const char *help = key_at(i).help;
        const size_t length = strlen(help);
        assert_in_range(length, 10, 80);
        assert_in_range(help[0], 'A', 'Z');
        assert_int_equal(help[length - 1], '.');
        assert_null(strchr(help, '\n'));
    }
}

static void texts_stay_where_they_are(void **state) {
    (void)state;
    const mdist_config_key_t once = key_at(0), again = key_at(0);
    assert_memory_equal(&once, &again, sizeof once);
    assert_string_equal(once.name, "strategy");
    assert_string_equal(once.environment, "MDIST_STRATEGY");
}

static void a_newer_caller_gets_what_there_is(void **state) {
    (void)state;
    struct {
        mdist_config_key_t key;
        const char *newer;
    } out = {.key = {.struct_size = sizeof out}};
    OK(mdist_config_key_describe(0, &out.key, &error));
    assert_int_equal(out.key.struct_size, sizeof out);
    assert_string_equal(out.key.name, "strategy");
    assert_null(out.newer);
}

static void what_is_not_there_is_refused(void **state) {
    (void)state;
    mdist_config_key_t key = {.struct_size = sizeof key};
    const size_t end = mdist_config_key_count();
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_config_key_describe(end, &key, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_config_key_describe(0, NULL, &error));
    assert_null(key.name);
    key.struct_size = 8;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_config_key_describe(0, &key, &error));
    assert_null(key.name);
}

int main(void) {
    unsetenv("MDIST_CONFIG");
    for (size_t i = 0; i < mdist_config_key_count(); ++i) unsetenv(key_at(i).environment);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_reads_as_its_default),
        cmocka_unit_test(every_key_takes_its_kind_by_name_and_by_variable),
        cmocka_unit_test(help_is_one_short_sentence),
        cmocka_unit_test(texts_stay_where_they_are),
        cmocka_unit_test(a_newer_caller_gets_what_there_is),
        cmocka_unit_test(what_is_not_there_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
#include "cluster/config.h"

#include <fstream>
#include <sstream>

#include "config_support.h"
#include "subject.h"

using namespace mdist;

namespace {

constexpr const char *kSample = R"(
strategy: mirrored
devices: ["cpu:0", "cpu:1"]
executor: caller
communication: {timeout: 30s, heartbeat_timeout: 250ms, bytes_per_pack: 4MiB}
secret_file: "/etc/mdist/my secret"
data:
  order: replica
log: {level: off}
)";

void an_empty_config_reads_as_its_defaults(void **) {
    Config config;
    assert_text(config.get("strategy"), "auto");
    assert_text(config.text("executor"), "threads");
    assert_true(config.duration_ns("communication.timeout") == 600'000'000'000);
    assert_true(config.duration_ns("communication.heartbeat_timeout") == 10'000'000'000);
    assert_true(config.bytes("communication.bytes_per_pack") == 0);
    assert_true(config.count("task.index") == 0);
    assert_true(config.list("cluster.worker").empty());
    assert_int_equal(config.devices().size(), 1);
    assert_text(config.origin("executor"), "default");
    assert_false(config.is_set("executor"));
    assert_false(config.is_from_environment());
}

void yaml_values_are_read_by_type_and_remember_their_place(void **) {
    Config config;
    config.load_text(kSample, "cluster.yaml");
    assert_text(config.text("strategy"), "mirrored");
    assert_int_equal(config.devices().size(), 2);
    assert_true(config.list("devices") == std::vector<std::string>({"cpu:0", "cpu:1"}));
    assert_text(config.text("devices"), "cpu:0,cpu:1");
    assert_true(config.duration_ns("communication.timeout") == 30'000'000'000);
    assert_true(config.duration_ns("communication.heartbeat_timeout") == 250'000'000);
    assert_true(config.bytes("communication.bytes_per_pack") == 4 << 20);
    assert_text(config.text("secret_file"), "/etc/mdist/my secret");
    assert_text(config.text("log.level"), "off");
    assert_text(config.origin("communication.heartbeat_timeout"), "cluster.yaml:5:50");
    assert_text(config.origin("data.order"), "cluster.yaml:8:10");
}

void a_later_source_overrides_key_by_key(void **) {
    Config config;
    config.set("executor", "threads", "mdist_config_set");
    config.set("communication.timeout", "1s", "mdist_config_set");
    config.load_text("communication: {timeout: 2s}", "a");
    config.load_text("communication.timeout: 3s", "b");
    assert_text(config.origin("executor"), "mdist_config_set");
    assert_text(config.text("communication.timeout"), "3s");
    assert_text(config.origin("communication.timeout"), "b:1:24");
    config.set("communication.timeout", "4s", "mdist_config_set");
    assert_text(config.text("communication.timeout"), "4s");
    assert_text(config.origin("communication.timeout"), "mdist_config_set");
}

void an_unknown_key_names_its_nearest_neighbour(void **) {
    const struct {
        const char *key, *words;
    } cases[] = {{"comunication.timeout", "did you mean communication.timeout?"},
                 {"timeout", "did you mean communication.timeout?"},
                 {"join_timout", "did you mean communication.join_timeout?"},
                 {"device", "did you mean devices?"},
                 {"Strategy", "did you mean strategy?"},
                 {"stratgey", "did you mean strategy?"},
                 {"communication", "it is a group, with the keys communication.implementation, communication.timeout"},
                 {"zzzzzzzz", "`mdist keys` lists them"},
                 {"", "`mdist keys` lists them"}};
    for (const auto &c : cases) {
        Config config;
        for (const Outcome &outcome : {outcome_of([&] { config.set(c.key, "1", "mdist_config_set"); }),
                                       outcome_of([&] { config.get(c.key); })}) {
            assert_int_equal(outcome.status, MDIST_ERR_CONFIG);
            assert_text(outcome.reason, "unknown_key");
            assert_says(outcome, c.words);
        }
        assert_true(config == Config());
    }
    Config config;
    std::string long_key(100000, 'a');
    assert_true(outcome_of([&] { config.set(long_key, "1", "o"); }).message.size() < 250);
}

void a_bad_value_leaves_the_config_as_it_was(void **) {
    Config config;
    config.set("executor", "caller", "mdist_config_set");
    Config before = config;
    Outcome outcome = outcome_of([&] { config.set("executor", "fibers", "mdist_config_set"); });
    assert_text(outcome.message, "mdist_config_set: executor is \"fibers\"; use one of threads, caller");
    assert_true(config == before);
}

void yaml_is_loaded_as_a_whole_or_not_at_all(void **) {
    Config config;
    config.set("executor", "caller", "mdist_config_set");
    Config before = config;
    const struct {
        const char *text, *begin, *reason;
    } cases[] = {
        {"executor: threads\ntimeouts: 3s", "x.yaml:2:1: \"timeouts\" is not a configuration key", "unknown_key"},
        {"executor: threads\ncommunication:\n  timeout: 0s", "x.yaml:3:12: communication.timeout: \"0s\"", "bad_value"},
        {"executor: [threads]", "x.yaml:1:11: executor takes one value, not a list", "bad_value"},
        {"executor: threads\nlog:\n  level: info\n level: x", "x.yaml:4:2: ", "bad_yaml"},
        {"executor: threads\ndevices: []", "x.yaml:2:10: devices: the list is empty", "bad_value"},
        {"executor:\ndevices: auto", "x.yaml:1:10: executor is \"\"; use one of", "bad_value"},
        {"cluster: {worker: ['a:70000']}", "x.yaml:1:19: the port of \"a:70000\"", "bad_value"},
        {"executor: threads\nexecutor: caller", "x.yaml:2:1: ", "bad_yaml"}};
    for (const auto &c : cases) {
        Outcome outcome = outcome_of([&] { config.load_text(c.text, "x.yaml"); });
        assert_int_equal(outcome.status, MDIST_ERR_CONFIG);
        assert_text(outcome.reason, c.reason);
        assert_begins(outcome, c.begin);
        assert_true(config == before);
    }
}

void the_manual_names_every_other_variable(void **) {
    std::ifstream file(MDIST_TEST_CONFIGURATION_PAGE);
    std::stringstream page;
    page << file.rdbuf();
    for (const char *variable : reserved_variables()) assert_true(page.str().find(variable) != std::string::npos);
}

} // namespace

SUBJECT(config) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_config_reads_as_its_defaults),
        cmocka_unit_test(yaml_values_are_read_by_type_and_remember_their_place),
        cmocka_unit_test(a_later_source_overrides_key_by_key),
        cmocka_unit_test(an_unknown_key_names_its_nearest_neighbour),
        cmocka_unit_test(a_bad_value_leaves_the_config_as_it_was),
        cmocka_unit_test(yaml_is_loaded_as_a_whole_or_not_at_all),
        cmocka_unit_test(the_manual_names_every_other_variable),
    };
    return cmocka_run_group_tests_name("config", tests, nullptr, nullptr);
}

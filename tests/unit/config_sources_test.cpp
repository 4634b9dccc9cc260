// SPDX-License-Identifier: Apache-2.0
// Files and the environment.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdio>
#include <fstream>

#include "cluster/config.h"
#include "config_support.h"
#include "subject.h"
#include "util/log.h"
#include "util/yaml.h"

using namespace mdist;

namespace {

std::string folder;
std::vector<std::string> warnings;

void record(mdist_log_level_t, const char *text, size_t length, void *) {
    warnings.emplace_back(text, length);
}

std::string path_of(const std::string &name) {
    return folder + "/" + name;
}

std::string written(const std::string &name, const std::string &content) {
    std::ofstream(path_of(name), std::ios::binary) << content;
    return path_of(name);
}

int make_folder(void **) {
    clear_environment();
    char pattern[] = "/tmp/mdist-config-XXXXXX";
    if (mkdtemp(pattern) == nullptr) return -1;
    folder = pattern;
    log::set_level(MDIST_LOG_WARN);
    log::set_sink(record, nullptr, nullptr);
    return 0;
}

int remove_folder(void **) {
    log::set_sink(nullptr, nullptr, nullptr);
    for (const char *name : {"a.yaml", "pipe", "socket", "secret.yaml", "long.yaml"})
        std::remove(path_of(name).c_str());
    return rmdir(folder.c_str());
}

int fresh_environment(void **) {
    clear_environment();
    warnings.clear();
    return 0;
}

Outcome load(const std::string &path) {
    Config config;
    Outcome outcome = outcome_of([&] { config.load_file(path); });
    if (outcome.status != MDIST_OK && !(config == Config())) outcome.message = "changed by a failed load";
    return outcome;
}

void a_file_is_loaded_with_its_path_as_origin(void **) {
    Config config;
    std::string path = written("a.yaml", "# both\n\nexecutor: caller\n");
    config.load_file(path);
    assert_text(config.origin("executor"), path + ":3:11");
}

void what_is_no_regular_file_is_refused_without_waiting(void **) {
    assert_int_equal(mkfifo(path_of("pipe").c_str(), 0600), 0);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::snprintf(address.sun_path, sizeof address.sun_path, "%s", path_of("socket").c_str());
    assert_int_equal(bind(listener, reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
    for (const std::string &path : {path_of("pipe"), path_of("socket"), folder, std::string("/dev/zero")}) {
        Outcome outcome = load(path);
        assert_int_equal(outcome.status, MDIST_ERR_CONFIG);
        assert_text(outcome.reason, "not_regular");
        assert_says(outcome, path);
    }
    close(listener);
    assert_says(load(path_of("pipe")), "a named pipe");
    assert_says(load(folder), "a directory");
}

void a_missing_file_is_not_found(void **) {
    for (const std::string &path : {path_of("none.yaml"), std::string(), path_of("none/none.yaml")}) {
        Outcome outcome = load(path);
        assert_int_equal(outcome.status, MDIST_ERR_NOT_FOUND);
        assert_int_equal(outcome.native, ENOENT);
    }
    written("a.yaml", "");
    assert_int_equal(load(path_of("a.yaml/b")).status, MDIST_ERR_NOT_FOUND);
}

void a_forbidden_file_says_so(void **) {
    if (geteuid() == 0) skip(); // root may read everything
    chmod(written("secret.yaml", "").c_str(), 0);
    Outcome outcome = load(path_of("secret.yaml"));
    assert_int_equal(outcome.status, MDIST_ERR_IO);
    assert_text(outcome.reason, "permission");
    assert_int_equal(outcome.native, EACCES);
}

void a_file_past_the_limit_is_refused(void **) {
    std::string content(yaml::kMostBytes, '#');
    assert_int_equal(load(written("long.yaml", content)).status, MDIST_OK);
    Outcome outcome = load(written("long.yaml", content + "\n"));
    assert_int_equal(outcome.status, MDIST_ERR_CONFIG);
    assert_text(outcome.reason, "too_large");
}

void variables_override_the_file_they_name(void **) {
    setenv("MDIST_CONFIG", written("a.yaml", "executor: caller\ncommunication: {timeout: 7s}").c_str(), 1);
    setenv("MDIST_COMMUNICATION_TIMEOUT", "8s", 1);
    setenv("MDIST_DEVICES", "cpu:0, cpu:1", 1);
    setenv("MDIST_DATA_ORDER", "", 1);
    Config config;
    config.set("executor", "threads", "mdist_config_set");
    config.load_environment();
    assert_text(config.origin("executor"), path_of("a.yaml") + ":1:11");
    assert_text(config.text("communication.timeout"), "8s");
    assert_text(config.origin("communication.timeout"), "MDIST_COMMUNICATION_TIMEOUT");
    assert_int_equal(config.devices().size(), 2);
    assert_false(config.is_set("data.order"));
    assert_true(config.is_from_environment());
    assert_int_equal(warnings.size(), 0);
}

void a_bad_environment_changes_nothing_and_is_named(void **) {
    setenv("MDIST_EXECUTOR", "caller", 1);
    setenv("MDIST_LOG_LEVEL", "loud", 1);
    Config config;
    Outcome outcome = outcome_of([&] { config.load_environment(); });
    assert_int_equal(outcome.status, MDIST_ERR_CONFIG);
    assert_begins(outcome, "MDIST_LOG_LEVEL: log.level is \"loud\"; use one of off, error");
    assert_true(config == Config());
    setenv("MDIST_CONFIG", path_of("none.yaml").c_str(), 1);
    outcome = outcome_of([&] { config.load_environment(); });
    assert_int_equal(outcome.status, MDIST_ERR_NOT_FOUND);
    assert_int_equal(outcome.native, ENOENT);
    assert_begins(outcome, "MDIST_CONFIG: ");
}

void unknown_variables_are_one_warning_each(void **) {
    setenv("MDIST_COMUNICATION_TIMEOUT", "1s", 1);
    setenv("MDIST_UNRELATED_THING", "1s", 1);
    for (const char *variable : reserved_variables())
        if (std::string_view(variable) != "MDIST_CONFIG") setenv(variable, "1", 1);
    setenv("MDIST_SECRET_FILE", "/secret", 1);
    Config config;
    config.load_environment();
    assert_int_equal(warnings.size(), 2);
    assert_text(
        warnings[0],
        "the environment variable \"MDIST_COMUNICATION_TIMEOUT\" is not a configuration key, so it was not read; "
        "did you mean MDIST_COMMUNICATION_TIMEOUT?");
    assert_true(warnings[1].find("did you mean") == std::string::npos);
    assert_text(config.text("secret_file"), "/secret");
}

} // namespace

SUBJECT(config_sources) {
    const CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_file_is_loaded_with_its_path_as_origin, fresh_environment),
        cmocka_unit_test_setup(what_is_no_regular_file_is_refused_without_waiting, fresh_environment),
        cmocka_unit_test_setup(a_missing_file_is_not_found, fresh_environment),
        cmocka_unit_test_setup(a_forbidden_file_says_so, fresh_environment),
        cmocka_unit_test_setup(a_file_past_the_limit_is_refused, fresh_environment),
        cmocka_unit_test_setup(variables_override_the_file_they_name, fresh_environment),
        cmocka_unit_test_setup(a_bad_environment_changes_nothing_and_is_named, fresh_environment),
        cmocka_unit_test_setup(unknown_variables_are_one_warning_each, fresh_environment),
    };
    return cmocka_run_group_tests_name("config_sources", tests, make_folder, remove_folder);
}

// SPDX-License-Identifier: Apache-2.0
#include "cluster/config_values.h"
#include "cluster/config_keys.h"
#include "subject.h"

#include "cluster/config.h"
#include "cluster/devices.h"
#include "config_support.h"
#include "util/text.h"

using namespace mdist;

namespace {

constexpr uint64_t kSecond = 1'000'000'000;

void refused(const Outcome &outcome, const std::string &words) {
    assert_int_equal(outcome.status, MDIST_ERR_CONFIG);
    assert_text(outcome.reason, "bad_value");
    assert_says(outcome, words);
}

void durations_are_read_to_the_nanosecond(void **) {
    const struct {
        const char *text;
        uint64_t ns;
    } cases[] = {{"600s", 600 * kSecond},
                 {"30ms", 30'000'000},
                 {"2m", 120 * kSecond},
                 {"1h", 3600 * kSecond},
                 {"5", 5 * kSecond},
                 {"0.5", kSecond / 2},
                 {"1.25ms", 1'250'000},
                 {"7us", 7000},
                 {"1ns", 1},
                 {"0.000000001s", 1},
                 {"876000h", kLongestDurationNs}};
    for (const auto &c : cases) assert_true(parse_duration_ns(c.text) == c.ns);
}

void durations_that_are_no_wait_are_refused(void **) {
    for (const char *text : {"", "s", "-1s", "+1s", "1 s", "1d", "infinite", "inf", "nan", "1e3", ".5s", "1.", "1.s",
                             "0x10", "1,5s", "10S"})
        refused(outcome_of([&] { parse_duration_ns(text); }), "is not a valid duration");
    for (const char *text : {"0", "0s", "0.0h", "0.9ns", "0.0000000001"})
        refused(outcome_of([&] { parse_duration_ns(text); }), "more than 0");
    for (const char *text :
         {"876000.1h", "18446744073709551615", "18446744073709551616ns", "99999999999999999999999h", "18446744073.8s"})
        refused(outcome_of([&] { parse_duration_ns(text); }), "too long");
}

void sizes_are_read_in_binary_units(void **) {
    assert_true(parse_bytes("0") == 0);
    assert_true(parse_bytes("512") == 512);
    assert_true(parse_bytes("512B") == 512);
    assert_true(parse_bytes("64KiB") == 65536);
    assert_true(parse_bytes("4MiB") == 4u << 20);
    assert_true(parse_bytes("1GiB") == 1u << 30);
    assert_true(parse_bytes("8388607TiB") == 8388607ull << 40);
    for (const char *text : {"", "KiB", "1KB", "1kib", "-1", "1.5MiB", "1 MiB"})
        refused(outcome_of([&] { parse_bytes(text); }), "is not a valid size");
    for (const char *text : {"8388608TiB", "18446744073709551616", "99999999TiB"})
        refused(outcome_of([&] { parse_bytes(text); }), "too large");
}

void counts_are_whole_numbers(void **) {
    assert_true(parse_count("0") == 0);
    assert_true(parse_count("2147483647") == 2147483647);
    for (const char *text : {"", "-1", "1.0", "2147483648", "x", "1x"})
        refused(outcome_of([&] { parse_count(text); }), "is not a valid count");
}

void addresses_need_a_host_and_a_port(void **) {
    for (const char *text : {"a:1", "10.0.0.1:4400", "[::1]:65535", "node-1.example.org:80"}) check_address(text);
    for (const char *text : {"a", "a:", ":", "a:x", "a:1x", "a:-1"})
        refused(outcome_of([&] { check_address(text); }), "no port");
    for (const char *text : {"a:0", "a:65536", "a:99999999999999999999"})
        refused(outcome_of([&] { check_address(text); }), "1 to 65535");
    for (const char *text : {":80", "[]:80", "a b:80", "http://a:80"})
        assert_int_equal(outcome_of([&] { check_address(text); }).status, MDIST_ERR_CONFIG);
    refused(outcome_of([&] { check_address("::1:80"); }), "several colons");
}

/// "cpu:0 gpu:1/1"
std::string devices(const std::string &list) {
    std::string out;
    for (const DeviceName &device : parse_devices(list)) out += text(out.empty() ? "" : " ", device_text(device));
    return out;
}

void ports_are_one_or_a_range(void **) {
    using Ports = std::pair<uint16_t, uint16_t>;
    assert_true(parse_ports("5000-5100") == Ports(5000, 5100));
    assert_true(parse_ports("1") == Ports(1, 1));
    assert_true(parse_ports("65535-65535") == Ports(65535, 65535));
    for (const char *text : {"", "-", "5000-", "-5000", "0", "0-5", "5100-5000", "65536", "5000-65536", "5000 - 5100", "a", "5000,5001",
                             "99999999999999999999"})
        refused(outcome_of([&] { parse_ports(text); }), "names no ports");
}

void endpoints_are_numeric_with_a_port_or_without(void **) {
    const struct {
        const char *text, *host;
        uint16_t port;
    } cases[] = {{"10.0.0.5", "10.0.0.5", 0},           {"10.0.0.5:5000", "10.0.0.5", 5000},
                 {"0.0.0.0:65535", "0.0.0.0", 65535},   {"::", "::", 0},
                 {"2001:db8::5", "2001:db8::5", 0},     {"[2001:db8::5]", "2001:db8::5", 0},
                 {"[2001:db8::5]:5", "2001:db8::5", 5}, {"fe80::1%eth0", "fe80::1%eth0", 0}};
    for (const auto &c : cases) assert_true(parse_endpoint(c.text) == std::pair(std::string(c.host), c.port));
    for (const char *text : {"", ":", "[", "[]", "]:5", "host", "host:5", "10.0.0", "10.0.0.5:", "10.0.0.5:0", "10.0.0.5:65536",
                             "10.0.0.5:5000-5001", "[::1", "[::1]5", "[::1]:", "10.0.0.5 "})
        refused(outcome_of([&] { parse_endpoint(text); }), "is not a numeric address");
}

void device_lists_name_one_device_per_replica(void **) {
    const struct {
        const char *text, *expected;
    } cases[] = {
        {"auto", "cpu:0"},
        {" Auto ", "cpu:0"},
        {"cpu", "cpu:0"},
        {"cpu:3", "cpu:3"},
        {"cpu:1,cpu:0", "cpu:1 cpu:0"},
        {"cpu*4", "cpu:0 cpu:1 cpu:2 cpu:3"},
        {"cpu * 2", "cpu:0 cpu:1"},
        {"cpu*1", "cpu:0"},
        {"gpu", "gpu:0"},
        {"gpu:0*2", "gpu:0 gpu:0/1"},
        {"gpu:1, cpu:0", "gpu:1 cpu:0"},
        {"cpu*2,cpu:2", "cpu:0 cpu:1 cpu:2"},
        {"/job:localhost/replica:0/task:0/device:CPU:0,/job:localhost/replica:0/task:0/device:GPU:1", "cpu:0 gpu:1"},
        {"/cpu:0,CPU:1,/device:CPU:2,GPU:1,/device:GPU:0,device:gpu:2", "cpu:0 cpu:1 cpu:2 gpu:1 gpu:0 gpu:2"}};
    for (const auto &c : cases) assert_text(devices(c.text), c.expected);
    assert_int_equal(parse_devices("cpu*1024").size(), 1024);
    DeviceName second{DeviceKind::kGpu, 0, 1};
    assert_true(parse_devices("gpu:0*2")[1] == second);
}

void device_lists_that_make_no_sense_are_refused(void **) {
    const struct {
        const char *text, *words;
    } cases[] = {{"", "empty"},
                 {" ", "empty"},
                 {"cpu:0,", "is not a valid device"},
                 {",", "is not a valid device"},
                 {"tpu:0", "\"tpu:0\" is not a valid device"},
                 {"/job:worker/replica:0/task:1/device:CPU:0", "is not a valid device"},
                 {"auto,cpu:0", "is not a valid device"},
                 {"cpu0", "is not a valid device"},
                 {"cpu:", "whole number from 0 to 1023"},
                 {"cpu:-1", "whole number"},
                 {"cpu:1x", "whole number"},
                 {"cpu:1024", "whole number"},
                 {"cpu*0", "whole number from 1 to 1024"},
                 {"cpu*", "whole number"},
                 {"cpu*1025", "whole number"},
                 {"cpu*99999999999999999999", "whole number"},
                 {"cpu*2*2", "whole number"},
                 {"cpu*1024,gpu:0", "more than 1024"},
                 {"cpu:2*3", "only a GPU has logical devices"},
                 {"gpu*2", "is ambiguous"},
                 {"cpu,cpu:0", "cpu:0 is named twice"},
                 {"cpu*2,cpu:1", "cpu:1 is named twice"},
                 {"gpu:0,gpu:0", "write gpu:0*2 for logical devices"},
                 {"gpu:0*2,gpu:0", "no duplicates"}};
    for (const auto &c : cases) refused(outcome_of([&] { parse_devices(c.text); }), c.words);
}

void choices_are_listed_to_who_misses_them(void **) {
    Outcome outcome = outcome_of([] { checked_value(config_key("executor"), "fibers"); });
    refused(outcome, "executor is \"fibers\"; use one of threads, caller");
    outcome = outcome_of([] { checked_value(config_key("communication.implementation"), "gloo"); });
    refused(outcome, "communication.implementation is \"gloo\"; use one of auto, ring, nccl, inproc, shm, tcp");
    assert_text(checked_value(config_key("executor"), " CALLER "), "caller");
    assert_text(checked_value(config_key("data.auto_shard_policy"), "OFF"), "off");
}

void address_lists_hold_each_address_once(void **) {
    const ConfigKey &worker = config_key("cluster.worker");
    assert_text(checked_value(worker, "a:1 , b:2"), "a:1,b:2");
    refused(outcome_of([&] { checked_value(worker, "a:1,a:1"); }), "names \"a:1\" twice");
    refused(outcome_of([&] { checked_value(worker, ""); }), "is empty");
    refused(outcome_of([&] { checked_value(worker, "a:1,,b:1"); }), "no port");
    refused(outcome_of([] { checked_value(config_key("cluster.chief"), "a:1,b:1"); }), "at most 1 address, not 2");
}

void every_default_passes_its_own_check(void **) {
    for (const ConfigKey &key : config_keys())
        if (*key.default_text != '\0') assert_text(checked_value(key, key.default_text), key.default_text);
}

void bad_bytes_are_shown_as_escapes(void **) {
    Outcome outcome = outcome_of([] {
        checked_value(config_key("executor"),
                      "a\n\xff\x1b"
                      "b");
    });
    refused(outcome, "\"a\\x0a\\xff\\x1bb\"");
    outcome = outcome_of([] { checked_value(config_key("executor"), std::string(100000, 'x')); });
    assert_true(outcome.message.size() < 200);
}

} // namespace

SUBJECT(config_values) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_read_to_the_nanosecond),
        cmocka_unit_test(durations_that_are_no_wait_are_refused),
        cmocka_unit_test(sizes_are_read_in_binary_units),
        cmocka_unit_test(counts_are_whole_numbers),
        cmocka_unit_test(addresses_need_a_host_and_a_port),
        cmocka_unit_test(ports_are_one_or_a_range),
        cmocka_unit_test(endpoints_are_numeric_with_a_port_or_without),
        cmocka_unit_test(device_lists_name_one_device_per_replica),
        cmocka_unit_test(device_lists_that_make_no_sense_are_refused),
        cmocka_unit_test(choices_are_listed_to_who_misses_them),
        cmocka_unit_test(address_lists_hold_each_address_once),
        cmocka_unit_test(every_default_passes_its_own_check),
        cmocka_unit_test(bad_bytes_are_shown_as_escapes),
    };
    return cmocka_run_group_tests_name("config_values", tests, nullptr, nullptr);
}

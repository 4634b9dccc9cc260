// SPDX-License-Identifier: Apache-2.0
// Which CPUs share their last cache, and how many a process may use, from files like those of the system. And what
// waits remember of what paid.
#include "util/cpus.h"
#include "subject.h"
#include "util/account.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include <cmocka.h>
}

namespace {

using namespace mdist;

/// A folder of its own, which goes with it.
class Folder {
  public:
    Folder() {
        char name[] = "/tmp/mdist-cpus-XXXXXX";
        assert_non_null(mkdtemp(name));
        path_ = name;
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    /// Says which CPUs share a cache of a CPU.
    void put(int cpu, int cache, const char *sharers) const {
        write("cpu" + std::to_string(cpu) + "/cache/index" + std::to_string(cache) + "/shared_cpu_list", sharers);
    }
    /// Writes a file, with the folders above it.
    void write(const std::string &name, const std::string &text) const {
        std::filesystem::create_directories((path_ / name).parent_path());
        std::ofstream(path_ / name) << text;
    }
    uint32_t quota() const { return quota_cpus(path_.string()); }
    bool share(std::initializer_list<int> cpus) const {
        cpu_set_t set;
        CPU_ZERO(&set);
        for (const int cpu : cpus) CPU_SET(cpu, &set);
        return share_last_cache(set, path_.c_str());
    }

  private:
    std::filesystem::path path_;
};

void the_last_cache_decides(void **) {
    const Folder folder;
    for (int cpu = 0; cpu < 4; ++cpu) {
        folder.put(cpu, 0, std::to_string(cpu).append("\n").c_str());
        folder.put(cpu, 2, cpu < 2 ? "0-1\n" : "2-3\n");
        folder.put(cpu, 3, "0-3\n");
    }
    assert_true(folder.share({0, 1, 2, 3}));
    folder.put(0, 4, "0-1\n"); // of a larger number
    assert_true(folder.share({0, 1}));
    assert_false(folder.share({0, 2}));
}

void lists_hold_single_numbers_and_ranges(void **) {
    const Folder folder;
    folder.put(1, 3, "1,3-5,9,100-101\n");
    assert_true(folder.share({1}));
    assert_true(folder.share({1, 3, 4, 5, 9, 100, 101}));
    assert_false(folder.share({1, 2}));
    assert_false(folder.share({1, 6}));
    assert_false(folder.share({1, 102}));
}

void what_the_system_does_not_say_is_no(void **) {
    const Folder folder;
    assert_false(folder.share({}));
    assert_false(folder.share({0}));
    for (const char *text : {"", "\n", "none\n", "-\n", "1\n", "5-3\n", "99999999999999999999\n", "-7-0\n"}) {
        folder.put(0, 3, text);
        assert_false(folder.share({0, 2}));
    }
}

constexpr uint32_t kNoQuota = UINT32_MAX;

void the_quota_of_any_group_above_counts(void **) {
    const Folder folder;
    assert_int_equal(folder.quota(), kNoQuota); // the system says nothing
    folder.write("proc/self/cgroup", "0::/work.slice/job.scope\n");
    assert_int_equal(folder.quota(), kNoQuota);
    folder.write("sys/fs/cgroup/work.slice/job.scope/cpu.max", "max 100000\n");
    assert_int_equal(folder.quota(), kNoQuota);
    folder.write("sys/fs/cgroup/work.slice/cpu.max", "250000 100000\n");
    assert_int_equal(folder.quota(), 3); // 2.5, rounded up
    folder.write("sys/fs/cgroup/work.slice/job.scope/cpu.max", "400000 100000\n");
    assert_int_equal(folder.quota(), 3);
    folder.write("sys/fs/cgroup/cpu.max", "50000 100000\n"); // as in a container
    assert_int_equal(folder.quota(), 1);
}

void quotas_of_the_first_version_count_too(void **) {
    const Folder folder;
    folder.write("proc/self/cgroup", "5:cpuset:/other\n4:cpuacct,cpu:/docker/1f\n1:name=systemd:/\n0::/\n");
    const std::string group = "sys/fs/cgroup/cpu/docker/";
    folder.write(group + "1f/cpu.cfs_quota_us", "-1\n");
    folder.write(group + "1f/cpu.cfs_period_us", "100000\n");
    folder.write("sys/fs/cgroup/cpu/other/cpu.cfs_quota_us", "1\n"); // of a group that this process is not in
    folder.write("sys/fs/cgroup/cpu/other/cpu.cfs_period_us", "100000\n");
    assert_int_equal(folder.quota(), kNoQuota);
    folder.write(group + "cpu.cfs_quota_us", "600000\n");
    folder.write(group + "cpu.cfs_period_us", "100000\n");
    assert_int_equal(folder.quota(), 6);
    folder.write(group + "1f/cpu.cfs_quota_us", "200000\n");
    assert_int_equal(folder.quota(), 2);
}

void a_path_from_outside_a_container_is_read_as_far_as_it_is_there(void **) {
    const Folder folder;
    folder.write("proc/self/cgroup", "3:cpu:/docker/1f\n");
    folder.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n");
    folder.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "50000\n");
    assert_int_equal(folder.quota(), 2);
    for (const char *text : {"", "\n", "nonsense\n", "0:\n", "::\n", "3:cpu:no/slash\n", "0::/../..\n"}) {
        folder.write("proc/self/cgroup", text);
        assert_int_equal(folder.quota(), kNoQuota);
    }
}

/// How many waits sleep at once before one tries again.
int rests_of(Account &account) {
    int rests = 0;
    while (account.rests()) ++rests;
    return rests;
}

void a_loss_is_made_good_by_doing_without(void **) {
    Account account;
    assert_int_equal(rests_of(account), 0);
    account.lose(1'000'000);
    assert_true(account.overdrawn());
    assert_int_equal(rests_of(account), 500); // at 2 us each
    assert_false(account.overdrawn());
    account.lose(1'000'000'000'000); // a process that was stopped: counts 40 ms
    assert_int_equal(rests_of(account), 20000);
    for (int i = 0; i < 1000; ++i) account.save(30'000); // counts up to 3 ms
    account.lose(3'000'000);
    assert_int_equal(rests_of(account), 0);
    account.lose(2000);
    assert_int_equal(rests_of(account), 1);
}

} // namespace

SUBJECT(cpus) {
    const CMUnitTest tests[] = {cmocka_unit_test(the_last_cache_decides),
                                cmocka_unit_test(lists_hold_single_numbers_and_ranges),
                                cmocka_unit_test(what_the_system_does_not_say_is_no),
                                cmocka_unit_test(the_quota_of_any_group_above_counts),
                                cmocka_unit_test(quotas_of_the_first_version_count_too),
                                cmocka_unit_test(a_path_from_outside_a_container_is_read_as_far_as_it_is_there),
                                cmocka_unit_test(a_loss_is_made_good_by_doing_without)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

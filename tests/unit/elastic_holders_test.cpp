// SPDX-License-Identifier: Apache-2.0
// Which workers hold the state of others: on other hosts where there are any, and not all of them the same.
#include "mdist_test.h"

#include "strategy/elastic/holders.h"
#include "subject.h"

#include <algorithm>
#include <set>

using namespace mdist;

namespace {

using Ranks = std::vector<uint32_t>;

void on_one_host_they_are_the_next_by_rank(void **) {
    const std::vector<std::string> hosts(4, "a");
    assert_true(choose_holders(hosts, 0, 1) == Ranks{1});
    assert_true(choose_holders(hosts, 3, 2) == (Ranks{0, 1}));
    assert_true(choose_holders(hosts, 2, 9) == (Ranks{3, 0, 1}));
    assert_true(choose_holders({"a"}, 0, 1).empty());
}

void on_hosts_of_one_worker_they_are_the_next_by_rank(void **) {
    assert_true(choose_holders({"a", "b", "c"}, 1, 1) == Ranks{2});
    assert_true(choose_holders({"", "", ""}, 2, 2) == (Ranks{0, 1}));
}

void they_are_on_other_hosts(void **) {
    const std::vector<std::string> hosts = {"a", "a", "b", "b"};
    assert_true(choose_holders(hosts, 0, 1) == Ranks{2});
    assert_true(choose_holders(hosts, 1, 1) == Ranks{3});
    assert_true(choose_holders(hosts, 2, 1) == Ranks{0});
    assert_true(choose_holders(hosts, 3, 1) == Ranks{1});
}

void every_worker_has_enough_of_them(void **) {
    const std::vector<std::string> hosts = {"a", "b", "a", "a", "c", "b", "", "a"};
    for (uint32_t worker = 0; worker < hosts.size(); ++worker)
        for (uint32_t copies = 1; copies < 10; ++copies) {
            const Ranks holders = choose_holders(hosts, worker, copies);
            const std::set<uint32_t> different(holders.begin(), holders.end());
            assert_true(holders.size() == std::min<std::size_t>(copies, hosts.size() - 1));
            assert_true(different.size() == holders.size() && different.count(worker) == 0);
            const auto mates = std::count(hosts.begin(), hosts.end(), hosts[worker]) - 1;
            for (std::size_t i = 0; i < holders.size() && !hosts[worker].empty(); ++i)
                assert_true((hosts[holders[i]] == hosts[worker]) == (i >= hosts.size() - 1 - static_cast<std::size_t>(mates)));
        }
}

} // namespace

SUBJECT(elastic_holders) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(on_one_host_they_are_the_next_by_rank),
        cmocka_unit_test(on_hosts_of_one_worker_they_are_the_next_by_rank),
        cmocka_unit_test(they_are_on_other_hosts),
        cmocka_unit_test(every_worker_has_enough_of_them),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

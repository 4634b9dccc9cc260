// SPDX-License-Identifier: Apache-2.0
// Slurm's nodelists: fixed expectations, random lists against how they were made, and Slurm's own expander where it is
// installed (`scontrol show hostnames`, which needs a configuration and no cluster).
#include "cluster/nodelist.h"

#include <cstdio>
#include <fstream>
#include <random>

#include "cluster_support.h"
#include "random.h"
#include "subject.h"
#include "util/text.h"

using namespace mdist;

namespace {

std::string joined(const std::vector<std::string> &names) {
    std::string line;
    for (const std::string &name : names) line += text(line.empty() ? "" : " ", name);
    return line;
}

const struct {
    const char *list, *hosts;
} kGood[] = {
    {"n5", "n5"},
    {"rack[0-1]_blade[00-02],n5",
     "rack0_blade00 rack0_blade01 rack0_blade02 rack1_blade00 rack1_blade01 rack1_blade02 n5"},
    {"n[1-2],m5,o[3-4,6,7-9]", "n1 n2 m5 o3 o4 o6 o7 o8 o9"},
    {"n[001-003]", "n001 n002 n003"},
    {"n[9-11]", "n9 n10 n11"},
    {"n[099-101]", "n099 n100 n101"},
    {"n[00-2]", "n00 n01 n02"},
    {"n[1-010]", "n1 n2 n3 n4 n5 n6 n7 n8 n9 n10"},
    {"n[01,1-3,007]", "n01 n1 n2 n3 n007"},
    {"a1,a2,a1", "a1 a2 a1"},
    {"n[2,1,1]", "n2 n1 n1"},
    {"[1-2]", "1 2"},
    {"n[1-2][3-4]", "n13 n14 n23 n24"},
    {"a,,b,", "a b"},
    {"n-1.example.org", "n-1.example.org"},
};

void lists_are_written_out(void **) {
    for (const auto &c : kGood) assert_text(joined(expand_nodelist(c.list)), c.hosts);
}

void what_is_no_list_is_refused(void **) {
    for (const char *list : {"",
                             ",",
                             "n[3-1]",
                             "n[",
                             "n[1-3",
                             "n1]",
                             "n[]",
                             "n[1-]",
                             "n[-1]",
                             "n[a]",
                             "n[1,]",
                             "n[1-2-3]",
                             "n[1-2]x",
                             "gpu-[1-2].dc1",
                             "a[0-1]b[2-3]c",
                             "a[[1]]",
                             "n[1, 2]",
                             "a b",
                             "a\n",
                             "n[0x1]",
                             "n[1-70000]",
                             "n[1-300],m[1-300][1-300]",
                             "n[0-9999999999999999999]"}) {
        Outcome outcome = outcome_of([&] { expand_nodelist(list); });
        if (outcome.status != MDIST_ERR_CONFIG) print_error("not refused: %s\n", list);
        assert_int_equal(outcome.status, MDIST_ERR_CONFIG);
        assert_text(outcome.reason, "bad_nodelist");
    }
    assert_says(outcome_of([] { expand_nodelist("a[0-1]b"); }),
                "\"a[0-1]b\": \"b\" follows the last bracket of a host name");
}

void a_list_names_at_most_65536_hosts(void **) {
    assert_int_equal(expand_nodelist("n[0-65535]").size(), 65536);
    assert_int_equal(expand_nodelist("n[0-255][0-255]").size(), 65536);
    for (const char *list : {"n[0-65536]", "n[0-65535],m", "n[0-255][0-256]", "n[1-65536,1]"})
        assert_says(outcome_of([&] { expand_nodelist(list); }), "names more than 65536 hosts");
    std::string many = "n";
    for (int i = 0; i < 20; ++i) many += "[0-9]";
    assert_says(outcome_of([&] { expand_nodelist(many); }), "names more than 65536 hosts");
}

void a_name_has_at_most_255_bytes(void **) {
    const std::string longest(252, 'a');
    assert_int_equal(expand_nodelist(longest + "[100-999]").size(), 900);
    assert_int_equal(expand_nodelist(std::string(255, 'a')).size(), 1);
    for (const std::string &list : {longest + "[1000]", longest + "[9-1000]", longest + "[1-99][10]", longest + "bbbb"})
        assert_says(outcome_of([&] { expand_nodelist(list); }), "names a host of more than 255 bytes");
}

void counts_are_written_out(void **) {
    assert_true(expand_counts("2(x3),1") == std::vector<std::uint32_t>({2, 2, 2, 1}));
    assert_true(expand_counts("16") == std::vector<std::uint32_t>({16}));
    assert_true(expand_counts("3(x2),2,1") == std::vector<std::uint32_t>({3, 3, 2, 1}));
    for (const char *list : {"", "x", "2(x", "2(x)", "2(x3", "2(3)", "2(x0)", "-1", "2(x70000)", "1,,2", "2 (x3)x"})
        assert_text(outcome_of([&] { expand_counts(list); }).reason, "bad_nodelist");
}

/// A list and what it stands for, made together.
struct Made {
    std::string list;
    std::vector<std::string> hosts;
};

class Maker {
  public:
    explicit Maker(std::uint32_t seed) : random_(seed) {}

    Made make() {
        Made made;
        for (std::uint32_t item = 0, items = 1 + below(4); item < items; ++item) {
            std::vector<std::string> names{""};
            std::string written;
            for (std::uint32_t part = 0, parts = below(3); part < parts; ++part) add_part(names, written);
            if (names.size() == 1 && names[0].empty()) {
                names[0] = text("h", below(100));
                written = names[0];
            }
            made.list += text(made.list.empty() ? "" : ",", written);
            made.hosts.insert(made.hosts.end(), names.begin(), names.end());
        }
        return made;
    }

  private:
    std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }

    void add_part(std::vector<std::string> &names, std::string &written) {
        std::string prefix = text(std::string(1, static_cast<char>('a' + below(26))), below(2) == 0 ? "-" : "");
        std::vector<std::string> numbers;
        std::string ranges;
        for (std::uint32_t range = 0, count = 1 + below(3); range < count; ++range) {
            std::uint32_t low = below(120), high = low + below(5);
            char first[16];
            std::snprintf(first, sizeof first, "%0*u", static_cast<int>(1 + below(4)), low);
            int width = static_cast<int>(std::string(first).size());
            for (std::uint32_t number = low; number <= high; ++number) {
                char digits[16];
                std::snprintf(digits, sizeof digits, "%0*u", width, number);
                numbers.emplace_back(digits);
            }
            ranges += text(ranges.empty() ? "" : ",", first);
            if (high > low || below(8) == 0) ranges += text("-", high);
        }
        written += text(prefix, "[", ranges, "]");
        std::vector<std::string> longer;
        for (const std::string &name : names)
            for (const std::string &number : numbers) longer.push_back(text(name, prefix, number));
        names = std::move(longer);
    }

    std::mt19937 random_;
};

void random_lists_mean_what_they_were_made_of(void **) {
    Maker maker(static_cast<std::uint32_t>(test_seed(20240817)));
    for (int i = 0; i < 3000; ++i) {
        Made made = maker.make();
        std::vector<std::string> hosts = expand_nodelist(made.list);
        if (hosts != made.hosts) print_error("list: %s\n", made.list.c_str());
        assert_true(hosts == made.hosts);
    }
}

std::string slurms_own(const std::string &list) {
    std::string command = text("timeout 20 scontrol show hostnames '", list, "' 2>/dev/null"), out;
    FILE *pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return "";
    for (int c; (c = std::fgetc(pipe)) != EOF;) out += c == '\n' ? ' ' : static_cast<char>(c);
    pclose(pipe);
    return out.empty() ? out : out.substr(0, out.size() - 1);
}

void slurm_itself_says_the_same(void **) {
    if (std::system("command -v scontrol >/dev/null 2>&1") != 0) skip();
    char path[] = "/tmp/mdist-slurm-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    std::ofstream(path) << "ClusterName=c\nSlurmctldHost=localhost\nNodeName=n1 NodeAddr=127.0.0.1\n"
                           "PartitionName=p Nodes=ALL Default=YES\n";
    setenv("SLURM_CONF", path, 1);
    bool works = slurms_own("n[1-2]") == "n1 n2";
    std::string wrong;
    Maker maker(static_cast<std::uint32_t>(test_seed(7)));
    for (const auto &c : kGood)
        if (works && slurms_own(c.list) != c.hosts) wrong += text(c.list, " ");
    for (int i = 0; works && i < (is_long() ? 300 : 15); ++i) {
        std::string list = maker.make().list;
        if (slurms_own(list) != joined(expand_nodelist(list))) wrong += text(list, " ");
    }
    unsetenv("SLURM_CONF");
    std::remove(path);
    if (!works) skip();
    assert_text(wrong, "");
}

} // namespace

SUBJECT(cluster_nodelist) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_written_out),
        cmocka_unit_test(what_is_no_list_is_refused),
        cmocka_unit_test(a_list_names_at_most_65536_hosts),
        cmocka_unit_test(a_name_has_at_most_255_bytes),
        cmocka_unit_test(counts_are_written_out),
        cmocka_unit_test(random_lists_mean_what_they_were_made_of),
        cmocka_unit_test(slurm_itself_says_the_same),
    };
    return cmocka_run_group_tests_name("cluster_nodelist", tests, nullptr, nullptr);
}

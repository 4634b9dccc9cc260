// SPDX-License-Identifier: Apache-2.0
// 714 answers of TensorFlow 2.21 about variables, scattered rows, reductions, gathers and losses. The library gives the
// same answer, or differs in one of the ways that semantics_deviations.cpp names. Their counts are exact.
#include "semantics.h"

using golden::Json;

namespace {

Json replay(const Json &given) {
    static const std::map<std::string, Json (*)(const Json &)> kinds = {
        {"var", golden::replay_variable},  {"rows", golden::replay_rows}, {"reduce", golden::replay_reduce},
        {"gather", golden::replay_gather}, {"loss", golden::replay_loss}, {"all_reduce", golden::replay_all_reduce},
    };
    return kinds.at(given["kind"])(given);
}

/// Parses a case. JSON has no NaN, so NaN becomes null.
Json read_case(std::string line) {
    for (std::size_t at = 0; (at = line.find("NaN", at)) != std::string::npos;) line.replace(at, 3, "null");
    return Json::parse(line);
}

/// Returns the index of the first deviation that explains the difference; the number of deviations if none does.
std::size_t explanation(const Json &given, const Json &here, const Json &tensorflow) {
    std::size_t at = 0;
    while (at < golden::deviations().size() && !golden::deviations()[at].explains(given, here, tensorflow)) ++at;
    return at;
}

void every_answer_is_tensorflows_or_a_named_deviation(void **) {
    std::ifstream file(GOLDEN_SEMANTICS);
    std::vector<int> counts(golden::deviations().size() + 1);
    int cases = 0;
    for (std::string line; std::getline(file, line); ++cases) {
        const Json json = read_case(line);
        const Json here = replay(json["case"]);
        if (golden::agree(here, json["tensorflow"])) continue;
        const std::size_t why = explanation(json["case"], here, json["tensorflow"]);
        ++counts[why];
        if (why == golden::deviations().size())
            print_error("%s\n  here       %s\n  TensorFlow %s\n", json["case"].dump().c_str(), here.dump().c_str(),
                        json["tensorflow"].dump().c_str());
    }
    assert_int_equal(cases, 714);
    for (std::size_t i = 0; i < golden::deviations().size(); ++i) {
        const golden::Deviation &deviation = golden::deviations()[i];
        print_message("%3d %s: %s\n", counts[i], deviation.name, deviation.reason);
        assert_int_equal(counts[i], deviation.count);
    }
    assert_int_equal(counts.back(), 0);
}

} // namespace

int main() {
    quiet_log();
    const CMUnitTest tests[] = {cmocka_unit_test(every_answer_is_tensorflows_or_a_named_deviation)};
    return cmocka_run_group_tests_name("golden_semantics", tests, nullptr, nullptr);
}

// SPDX-License-Identifier: Apache-2.0
// Random input pipelines give what TensorFlow gave (README.md), with one worker and with several worker processes.
#include "pipelines.h"
#include "files.h"

#include "../multi/multi.h"

#include <cstdlib>
#include <string>

namespace {

using golden::Json;

// ---- Where libmdist differs.

/// In TensorFlow, workers that get none of too few files or elements fail. The other workers see no error, or wait
/// forever. In libmdist all workers fail before the first step.
void all_refuse_too_few(const Json &one, Json &answer) {
    for (const Json &end : one["end"]) {
        if (end == "NotFoundError") answer = {{"steps", Json::array()}, {"end", "MDIST_ERR_NOT_FOUND"}};
        if (end == "InvalidArgumentError")
            answer = {{"steps", Json::array()},
                      {"end", one["spec"]["policy"] == "HINT" ? "MDIST_ERR_FAILED_PRECONDITION too_few_elements"
                                                              : "MDIST_ERR_FAILED_PRECONDITION too_few_files"}};
    }
}

/// Case 280: sub-batches that join rows of two widths fail in both, after the same steps. The status is MISMATCH here.
void rows_of_two_widths_are_a_mismatch(Json &answer) {
    answer["end"] = "MDIST_ERR_MISMATCH";
}

/// Case 480: a replica without a batch gets no rows. TensorFlow knows the batch size beforehand, and gives 6 rows of no
/// bytes.
void nothing_has_no_rows(Json &answer) {
    answer["steps"][0][1][0]["s"] = {0, 0};
}

/// Case 860: an empty dataset that is repeated forever is empty. TensorFlow fails with an error without a class.
void nothing_for_ever_ends(Json &answer) {
    answer["end"] = "end";
}

/// Returns what this worker must get: TensorFlow's answer, changed by the differences above.
Json wanted_of(const Json &one, uint32_t worker) {
    Json answer = {{"steps", one["workers"][worker]}, {"end", one["end"][worker]}};
    all_refuse_too_few(one, answer);
    if (one["spec"]["id"] == 280) rows_of_two_widths_are_a_mismatch(answer);
    if (one["spec"]["id"] == 480) nothing_has_no_rows(answer);
    if (one["spec"]["id"] == 860) nothing_for_ever_ends(answer);
    return answer;
}

// ---- Replaying.

/// Returns the number of cases that differ. Adds the number of cases it tried to a counter.
int replay(mdist_strategy_t *strategy, uint32_t workers, uint32_t worker, const std::string &folder, int &tried) {
    int differing = 0;
    for (const Json &one : golden::cases_in(GOLDEN_PIPELINES)) {
        if (one["spec"]["W"] != workers || one["spec"]["R"] != mdist_strategy_local_replica_count(strategy)) continue;
        ++tried;
        const Json got = golden::dealt(strategy, one["spec"], folder), wanted = wanted_of(one, worker);
        if (got == wanted) continue;
        fprintf(stderr, "worker %u: case %s\n  got    %s\n  wanted %s\n", worker, one["spec"].dump().c_str(),
                got.dump().c_str(), wanted.dump().c_str());
        ++differing;
    }
    return differing;
}

void replay_as_worker() {
    mdist_strategy_t *strategy = join();
    int tried = 0;
    REQUIRE(replay(strategy, worker_count, rank, getenv("TEST_FOLDER"), tried) == 0);
    REQUIRE(tried != 0);
    mdist_strategy_destroy(strategy);
}

std::string folder;

void one_worker_gets_what_tensorflow_gave(void **) {
    int tried = 0;
    for (uint32_t replicas = 1; replicas <= 4; ++replicas) {
        mdist_strategy_t *strategy = make_strategy(replicas, "threads");
        assert_int_equal(replay(strategy, 1, 0, folder, tried), 0);
        mdist_strategy_destroy(strategy);
    }
    assert_int_equal(tried, 158);
}

void check_workers(uint32_t count) {
    const std::string variable = "TEST_FOLDER=" + folder;
    const char *const environment[] = {variable.c_str(), nullptr};
    for (uint32_t replicas = 1; replicas <= 4; ++replicas) {
        const std::string devices = "cpu*" + std::to_string(replicas);
        Workers workers = {};
        workers.scenario = "replay";
        workers.count = count;
        workers.devices = devices.c_str();
        workers.environment = environment;
        assert_int_equal(run_workers(&workers), 0);
    }
}

void two_workers_get_what_tensorflow_gave(void **) {
    check_workers(2);
}
void three_workers_get_what_tensorflow_gave(void **) {
    check_workers(3);
}

int prepare(void **) {
    char name[] = "/tmp/mdist-golden-XXXXXX";
    if (mkdtemp(name) == nullptr) return -1;
    folder = name;
    golden::write_files(folder);
    return 0;
}
int clean_up(void **) {
    golden::remove_files(folder);
    return 0;
}

int test_all() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(one_worker_gets_what_tensorflow_gave),
        cmocka_unit_test(two_workers_get_what_tensorflow_gave),
        cmocka_unit_test(three_workers_get_what_tensorflow_gave),
    };
    return cmocka_run_group_tests(tests, prepare, clean_up);
}

} // namespace

int main(int argument_count, char **arguments) {
    const NamedScenario scenarios[] = {{"replay", replay_as_worker}};
    return multi_main(argument_count, arguments, scenarios, 1, test_all);
}

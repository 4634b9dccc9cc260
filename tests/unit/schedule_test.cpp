// SPDX-License-Identifier: Apache-2.0
// Schedules over links, driven by one thread that lets parties advance in a random order: every run is repeatable.
#include "comm/links/inproc.h"
#include "comm/schedules/exchange_all.h"
#include "reduce/reduce.h"
#include "util/failure.h"

#include <mdist/collective.h>

#include <cstring>
#include <random>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

// This header of 1.1.5 does not say for itself that it is C.
extern "C" {
#include <cmocka.h>
}

namespace {

using namespace mdist;

void exchange_gives_the_bits_of_the_reference_in_any_order_of_events(void **) {
    for (uint32_t seed = 0; seed < 300; ++seed) {
        std::mt19937 engine(seed);
        const auto random = [&] { return static_cast<uint32_t>(engine()); };
        const uint32_t parties = 1 + random() % 6;
        const uint64_t elements = random() % 70;
        std::vector<std::vector<float>> inputs(parties, std::vector<float>(elements));
        for (auto &input : inputs)
            for (float &x : input) x = static_cast<float>(random()) / 1e6f - 2000;
        std::vector<float> expected(elements);
        std::vector<const void *> sources;
        for (const auto &input : inputs) sources.push_back(input.data());
        void *destination = expected.data();
        reduce::reduce_reference({MDIST_FLOAT32, reduce::Op::kSum, parties}, sources.data(), parties, &destination, 1,
                                 elements);

        auto links = make_inproc_links(parties);
        std::vector<std::unique_ptr<ExchangeAll>> schedules(parties);
        uint32_t done = 0;
        std::vector<bool> finished(parties, false);
        while (done < parties) {
            const uint32_t party = random() % parties;
            float *data = inputs[party].data();
            if (!schedules[party])
                schedules[party] =
                    std::make_unique<ExchangeAll>(*links[party], 7, MDIST_FLOAT32, MDIST_SUM, data, data, elements);
            if (!finished[party] && schedules[party]->advance()) {
                finished[party] = true;
                ++done;
            }
        }
        for (const auto &output : inputs)
            if (elements != 0) assert_memory_equal(output.data(), expected.data(), elements * sizeof(float));
    }
}

void a_closed_link_is_a_lost_peer_for_those_who_wait(void **) {
    auto links = make_inproc_links(2);
    float x = 1;
    ExchangeAll schedule(*links[0], 1, MDIST_FLOAT32, MDIST_SUM, &x, &x, 1);
    assert_false(schedule.advance());
    links[1]->close();
    mdist_status_t status = MDIST_OK;
    int32_t who = -1;
    try {
        schedule.advance();
    } catch (const Failure &failure) {
        status = failure.status();
        who = failure.worker();
    }
    assert_int_equal(status, MDIST_ERR_PEER_LOST);
    assert_int_equal(who, 1);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(exchange_gives_the_bits_of_the_reference_in_any_order_of_events),
        cmocka_unit_test(a_closed_link_is_a_lost_peer_for_those_who_wait),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// SPDX-License-Identifier: Apache-2.0
// Whoever may not use NCCL for want of memory keeps no card from those that come later.
#include "fake.h"
#include "lanes_support.h"
#include "subject.h"

#include "comm/device/nccl_use.h"

#include "mdist_test.h"

namespace {

int allowed = -1; // allocations until one is refused; negative: all are allowed

using namespace mdist;

/// Returns whether the constructor got all the memory that it asked for.
bool made_with(int allocations, Lanes &lanes) {
    allowed = allocations;
    try {
        const NcclUse use(lanes, true);
        allowed = -1;
        return true;
    } catch (const std::bad_alloc &) {
        allowed = -1;
        return false;
    }
}

void a_use_that_could_not_be_made_keeps_no_card(void **) {
    GpuParties parties(3, 3);
    Lanes &lanes = parties.lanes.lanes();
    int refused = 0;
    while (!made_with(refused, lanes)) {
        ++refused;
        assert_string_equal(NcclUse(lanes, true).obstacle().c_str(), "");
    }
    assert_true(refused >= 3);
}

} // namespace

extern "C" int shortage_refuses_memory(void) {
    return allowed >= 0 && allowed-- == 0;
}

SUBJECT(nccl_use) {
    const CMUnitTest tests[] = {cmocka_unit_test(a_use_that_could_not_be_made_keeps_no_card)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

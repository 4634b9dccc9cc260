// SPDX-License-Identifier: Apache-2.0
// Short turns of a thread, as the kernel tells them. Before Linux 6.12 it tells none, and nothing changes.
#include "subject.h"
#include "util/thread.h"

#include <cstdint>
#include <thread>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" {
#include <cmocka.h>
}

namespace {

using namespace mdist;

struct Attributes { // the kernel's sched_attr
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

Attributes of_this_thread() {
    Attributes attributes = {};
    assert_int_equal(syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0), 0);
    return attributes;
}

/// Some containers forbid it.
void skip_if_forbidden() {
    Attributes own = of_this_thread();
    if (syscall(SYS_sched_setattr, 0, &own, 0) != 0) skip();
}

void a_thread_has_short_turns_and_others_keep_theirs(void **) {
    skip_if_forbidden();
    const Attributes usual = of_this_thread();
    std::thread([&] {
        for (int i = 0; i < 2; ++i) { // the second call changes nothing
            prefer_short_turns();
            const Attributes now = of_this_thread();
            assert_int_equal(now.runtime, usual.runtime == 0 ? 0 : 100000);
            assert_true(now.nice == usual.nice && now.policy == usual.policy && now.flags == usual.flags);
        }
    }).join();
    assert_int_equal(of_this_thread().runtime, usual.runtime);
}

} // namespace

SUBJECT(turns) {
    const CMUnitTest tests[] = {cmocka_unit_test(a_thread_has_short_turns_and_others_keep_theirs)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

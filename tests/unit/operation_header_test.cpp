// SPDX-License-Identifier: Apache-2.0
// What workers tell each other of an operation: enough to see that they differ, and to say how.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

// Its header does not say so itself.
extern "C" {
#include <cmocka.h>
}

#include "comm/operation_header.h"
#include "util/failure.h"

#include <mdist/collective.h>

#include <cstring>

namespace {

using namespace mdist;

Call all_reduce(const mdist_buffer_t *buffers, std::size_t count) {
    Call call;
    call.kind = CallKind::kAllReduce;
    call.op = MDIST_SUM;
    call.inputs = call.outputs = buffers;
    call.buffer_count = count;
    return call;
}

/// The message of the mismatch, or "" without one.
std::string difference(const OperationHeader &mine, const OperationHeader &theirs) {
    try {
        check_same(mine, 0, theirs, 3);
        return "";
    } catch (const Failure &failure) {
        if (failure.status() != MDIST_ERR_MISMATCH || failure.worker() != 3) return "another failure";
        return failure.message();
    }
}

void headers_of_one_operation_agree_whatever_their_payloads(void **) {
    float x[4] = {};
    const mdist_buffer_t buffers[] = {{x, 4, MDIST_FLOAT32, 0}, {x, 1, MDIST_FLOAT32, 0}};
    const auto mine = OperationHeader::of(all_reduce(buffers, 2), 9, 20);
    const auto theirs = OperationHeader::of(all_reduce(buffers, 2), 9, 4000);
    assert_string_equal(difference(mine, theirs).c_str(), "");
    assert_string_equal(mine.text().c_str(), "mdist_all_reduce(SUM, 2 buffers: float32 x 4, ...)");
    assert_int_equal(theirs.payload_bytes, 4000);
}

void every_difference_is_a_mismatch_told_in_words(void **) {
    float x[9] = {};
    const mdist_buffer_t buffers[] = {{x, 4, MDIST_FLOAT32, 0}, {x, 1, MDIST_FLOAT32, 0}};
    const mdist_buffer_t later[] = {{x, 4, MDIST_FLOAT32, 0}, {x, 2, MDIST_FLOAT32, 0}};
    const mdist_buffer_t longer[] = {{x, 9, MDIST_FLOAT32, 0}, {x, 1, MDIST_FLOAT32, 0}};
    const auto mine = OperationHeader::of(all_reduce(buffers, 2), 9, 20);
    assert_string_equal(
        difference(mine, OperationHeader::of(all_reduce(longer, 2), 9, 20)).c_str(),
        "workers disagree: worker 0 is in operation 9, mdist_all_reduce(SUM, 2 buffers: float32 x 4, ...), "
        "worker 3 in operation 9, mdist_all_reduce(SUM, 2 buffers: float32 x 9, ...)");
    assert_non_null(strstr(difference(mine, OperationHeader::of(all_reduce(later, 2), 9, 20)).c_str(),
                           "they differ in a later buffer"));
    Call named = all_reduce(buffers, 2), otherwise = named;
    named.subject_text = otherwise.subject_text = "\"a long name that is cut\", ";
    named.subject = 1;
    otherwise.subject = 2;
    assert_non_null(strstr(difference(OperationHeader::of(named, 9, 0), OperationHeader::of(otherwise, 9, 0)).c_str(),
                           "they differ further on in that name, shape or axes"));
    assert_non_null(
        strstr(difference(mine, OperationHeader::of(all_reduce(buffers, 2), 8, 20)).c_str(), "operation 8"));
    assert_non_null(strstr(difference(mine, OperationHeader::of(Call(), 9, 0)).c_str(), "mdist_barrier()"));
}

void what_may_differ_between_workers_is_not_compared(void **) {
    float x[9] = {};
    const mdist_buffer_t shorter = {x, 4, MDIST_FLOAT32, 0};
    const mdist_buffer_t longer = {x, 9, MDIST_FLOAT32, 0};
    Call mine = all_reduce(&shorter, 1);
    Call theirs = all_reduce(&longer, 1);
    mine.kind = theirs.kind = CallKind::kAllGather;
    mine.op = theirs.op = 0;
    assert_string_equal(difference(OperationHeader::of(mine, 1, 0), OperationHeader::of(theirs, 1, 0)).c_str(), "");
    assert_string_equal(OperationHeader::of(mine, 1, 0).text().c_str(), "mdist_all_gather(1 buffer: float32)");
}

void what_a_stranger_would_send_is_put_into_words_all_the_same(void **) {
    OperationHeader theirs;
    std::memset(static_cast<void *>(&theirs), 0xff, sizeof theirs);
    assert_non_null(strstr(difference(OperationHeader(), theirs).c_str(), "operation 18446744073709551615, ?("));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(headers_of_one_operation_agree_whatever_their_payloads),
        cmocka_unit_test(every_difference_is_a_mismatch_told_in_words),
        cmocka_unit_test(what_may_differ_between_workers_is_not_compared),
        cmocka_unit_test(what_a_stranger_would_send_is_put_into_words_all_the_same),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

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

#include "comm/call/operation_header.h"
#include "strategy/job/call_functions.h"
#include "subject.h"
#include "util/failure.h"
#include "util/fnv.h"
#include "util/text.h"

#include <mdist/collective.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace mdist;

Call all_reduce(const mdist_buffer_t *buffers, std::size_t count) {
    Call call;
    call.kind = &calls::kAllReduce;
    call.op = MDIST_SUM;
    call.inputs = call.outputs = buffers;
    call.buffer_count = count;
    return call;
}

Call barrier() {
    Call call;
    call.kind = &calls::kBarrier;
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
    assert_int_equal(OperationHeader::of(barrier(), 9, uint64_t{1} << 60).payload_bytes, UINT32_MAX);
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
    assert_non_null(strstr(difference(mine, OperationHeader::of(barrier(), 9, 0)).c_str(), "mdist_barrier()"));
}

void what_may_differ_between_workers_is_not_compared(void **) {
    float x[9] = {};
    const mdist_buffer_t shorter = {x, 4, MDIST_FLOAT32, 0};
    const mdist_buffer_t longer = {x, 9, MDIST_FLOAT32, 0};
    Call mine = all_reduce(&shorter, 1);
    Call theirs = all_reduce(&longer, 1);
    mine.kind = theirs.kind = &calls::kAllGather;
    mine.op = theirs.op = 0;
    assert_string_equal(difference(OperationHeader::of(mine, 1, 0), OperationHeader::of(theirs, 1, 0)).c_str(), "");
    assert_string_equal(OperationHeader::of(mine, 1, 0).text().c_str(), "mdist_all_gather(1 buffer: float32)");
}

/// The functions' names are told by their hashes alone, and still both sides name both.
void each_side_names_the_others_function(void **) {
    Call load = barrier(), save = barrier();
    load.kind = &calls::kRestoreCheckpoint;
    save.kind = &calls::kSaveCheckpoint;
    const auto here = OperationHeader::of(load, 4, 0), there = OperationHeader::of(save, 4, 0);
    assert_string_equal(difference(here, there).c_str(),
                        "workers disagree: worker 0 is in operation 4, mdist_checkpoint_restore(), "
                        "worker 3 in operation 4, mdist_checkpoint_save()");
    assert_string_equal(difference(there, here).c_str(),
                        "workers disagree: worker 0 is in operation 4, mdist_checkpoint_save(), "
                        "worker 3 in operation 4, mdist_checkpoint_restore()");
    assert_ptr_equal(CallFunction::find(calls::kScatter.hash()), &calls::kScatter);
    assert_ptr_equal(CallFunction::find(calls::kAssign.hash()), &calls::kAssign);
    assert_ptr_equal(CallFunction::find(calls::kAssignFirst.hash()), &calls::kAssignFirst);
    assert_null(CallFunction::find(0));
}

/// A function may sum in one call and not in another.
void calls_of_one_name_and_two_patterns_differ(void **) {
    float x[4] = {};
    const mdist_buffer_t buffer = {x, 4, MDIST_FLOAT32, 0};
    Call sum = all_reduce(&buffer, 1), first = sum;
    sum.kind = &calls::kAssign;
    first.kind = &calls::kAssignFirst;
    first.op = 0;
    assert_false(same_call(sum, first));
    assert_string_equal(
        difference(OperationHeader::of(sum, 4, 0), OperationHeader::of(first, 4, 0)).c_str(),
        "workers disagree: worker 0 is in operation 4, mdist_replica_assign(SUM, 1 buffer: float32 x 4), "
        "worker 3 in operation 4, mdist_replica_assign(1 buffer: float32 x 4)");
}

/// As others compute it: Fowler, Noll and Vo's own examples.
void names_are_hashed_as_everywhere(void **) {
    assert_true(fnv1a("") == 0xcbf29ce484222325);
    assert_true(fnv1a("a") == 0xaf63dc4c8601ec8c);
    assert_true(fnv1a("b") == 0xaf63df4c8601f1a5);
    assert_true(fnv1a("foobar") == 0x85944171f73967e8);
    assert_true(fnv1a("chongo was here!\n") == 0x46810940eff5f915);
    assert_true(calls::kBarrier.hash() == fnv1a("mdist_barrier"));
    assert_true(calls::kAllReduce.hash() == (fnv1a("mdist_all_reduce") ^ uint64_t{1} << 32));
}

/// As lib/comm/README.md says; the number is from another program that does the same.
void calls_are_hashed_as_specified(void **) {
    float x[4] = {};
    const mdist_buffer_t buffers[] = {{x, 4, MDIST_FLOAT32, 0}, {x, 1, MDIST_FLOAT32, 0}};
    assert_true(fingerprint(all_reduce(buffers, 2)) == 0xada485541895b380);
}

/// As lib/comm/README.md says, whatever the compiler.
void a_header_has_its_bytes_in_their_places(void **) {
    OperationHeader header;
    header.sequence = 0x0101010101010101;
    header.print = 0x0202020202020202;
    header.function = 0x0303030303030303;
    header.elements = 0x0404040404040404;
    header.payload_bytes = 0x05050505;
    header.root = 0x06060606;
    header.buffer_count = 0x07070707;
    header.op = 9;
    header.dtype = 0x0a;
    header.on_gpus = 1;
    header.subject_print = 0x0b0c;
    std::memcpy(header.subject, "abcdefghijklmnop", sizeof header.subject);
    std::string expected;
    for (const char *byte : {"\1", "\2", "\3", "\4"}) expected.append(8, *byte);
    for (const char *byte : {"\5", "\6", "\7"}) expected.append(4, *byte);
    expected +=
        "\x09\x8a\x0c\x0b"
        "abcdefghijklmnop";
    assert_memory_equal(&header, expected.data(), 64);
}

/// Neither a disagreement about calls nor this library's fault; and there are words for it all the same.
void what_no_worker_would_send_is_data_loss(void **) {
    const OperationHeader mine = OperationHeader::of(barrier(), 1, 0);
    OperationHeader theirs;
    std::memset(static_cast<void *>(&theirs), 0xff, sizeof theirs);
    assert_non_null(strstr(theirs.text().c_str(), "?("));
    OperationHeader zeros, dtype = mine, function = mine, bit = mine, op = mine;
    std::memset(static_cast<void *>(&zeros), 0, sizeof zeros);
    dtype.dtype = 99;
    function.function = 0;
    bit.function ^= 1;
    op.op = kLastOp + 1;
    for (const OperationHeader &bad : {theirs, zeros, dtype, function, bit, op}) {
        try {
            check_same(mine, 0, bad, 3);
            assert_false(true);
        } catch (const Failure &failure) {
            assert_int_equal(failure.status(), MDIST_ERR_DATA_LOSS);
            assert_int_equal(failure.worker(), 3);
        }
    }
}

/// The call of more than half of all is named, and one of the others, also if some have not been heard of.
void who_differs_from_most_is_named(void **) {
    const OperationHeader most = OperationHeader::of(barrier(), 5, 0), other = OperationHeader::of(barrier(), 6, 0);
    OperationHeader no_header = most;
    no_header.function = 0;
    const auto odd = [](const std::vector<const OperationHeader *> &headers) {
        return odd_one_out(headers, [](uint32_t worker) { return worker + 10; });
    };
    for (const auto &headers : {std::vector{&most, &most, &other, &most}, {&most, nullptr, &other, &most, &most}}) {
        const std::optional<Failure> found = odd(headers);
        assert_true(found.has_value());
        assert_int_equal(found->status(), MDIST_ERR_MISMATCH);
        assert_int_equal(found->worker(), 12);
        assert_string_equal(found->reason().c_str(), kDifferentCalls);
        const std::string words =
            text("workers disagree: ", headers.size() == 4 ? "" : "at least ", "3 of ", headers.size(),
                 " workers are in operation 5, mdist_barrier(), ", "worker 12 in operation 6, mdist_barrier()");
        assert_string_equal(found->message().c_str(), words.c_str());
    }
    assert_false(odd({&most, &other}).has_value());
    assert_false(odd({&most, &most, &other, &other}).has_value());
    assert_false(odd({&most, &most, nullptr, &other}).has_value());
    assert_false(odd({&most, &most, &most, nullptr}).has_value());
    assert_false(odd({&most, &most, &no_header}).has_value()); // that is no disagreement about calls
}

} // namespace

SUBJECT(operation_header) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(headers_of_one_operation_agree_whatever_their_payloads),
        cmocka_unit_test(every_difference_is_a_mismatch_told_in_words),
        cmocka_unit_test(what_may_differ_between_workers_is_not_compared),
        cmocka_unit_test(each_side_names_the_others_function),
        cmocka_unit_test(calls_of_one_name_and_two_patterns_differ),
        cmocka_unit_test(names_are_hashed_as_everywhere),
        cmocka_unit_test(calls_are_hashed_as_specified),
        cmocka_unit_test(a_header_has_its_bytes_in_their_places),
        cmocka_unit_test(what_no_worker_would_send_is_data_loss),
        cmocka_unit_test(who_differs_from_most_is_named),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

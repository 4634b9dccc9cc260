// SPDX-License-Identifier: Apache-2.0
// The tree evaluated in pieces gives the bits of the tree evaluated at once, however the replicas are shared out.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

// Its header does not say so itself.
extern "C" {
#include <cmocka.h>
}

#include <bit>
#include <vector>

#include "reduce/float_environment.h"
#include "reduce/partials.h"
#include "reduce_reference.h"
#include "spans_support.h"
#include "subject.h"

namespace {

using mdist::Random;
using mdist::Spans;
using namespace mdist::reduce;
using Bytes = std::vector<unsigned char>;

constexpr int32_t kDtypes[] = {MDIST_FLOAT32, MDIST_FLOAT64, MDIST_FLOAT16, MDIST_BFLOAT16, MDIST_INT8,
                               MDIST_UINT8,   MDIST_INT32,   MDIST_UINT32,  MDIST_INT64,    MDIST_UINT64,
                               MDIST_INT16,   MDIST_UINT16,  MDIST_BOOL};
constexpr Op kOps[] = {Op::kSum, Op::kMean, Op::kMin, Op::kMax, Op::kProd, Op::kAnd, Op::kOr, Op::kXor};

std::vector<const void *> pointers_to(const std::vector<Bytes> &arrays) {
    std::vector<const void *> pointers;
    for (const Bytes &array : arrays) pointers.push_back(array.data());
    return pointers;
}

std::vector<Bytes> partials_of(const Operation &operation, const Cut &cut, const std::vector<Bytes> &values,
                               std::size_t elements) {
    const auto sources = pointers_to(values);
    std::vector<Bytes> partials;
    for (uint32_t i = 0; i < cut.subtrees().size(); ++i) {
        partials.emplace_back(elements * partial_size(operation.dtype, cut));
        reduce_partial(operation, cut, i, sources.data() + cut.subtrees()[i].begin, partials.back().data(), elements);
    }
    return partials;
}

/// In place, the results are written over partials.
void check(Random &random, int32_t dtype, Op op, const Spans &spans, std::size_t elements) {
    const uint32_t replicas = spans.replicas();
    const Operation operation = {dtype, op, replicas};
    const std::size_t size = mdist::dtype_size(operation.dtype);
    std::vector<Bytes> values(replicas, Bytes(elements * size));
    for (Bytes &value : values) mdist::fill_elements(random, operation.dtype, value.data(), elements);
    Bytes expected(elements * size);
    void *destination = expected.data();
    reduce_reference(operation, pointers_to(values).data(), replicas, &destination, 1, elements);

    const Cut cut(spans);
    std::vector<Bytes> partials = partials_of(operation, cut, values, elements);
    std::vector<Bytes> results(2, Bytes(elements * size));
    std::vector<void *> destinations = {results[0].data(), results[1].data()};
    if (partial_size(operation.dtype, cut) == size) destinations.push_back(partials[random() % partials.size()].data());
    combine_partials(operation, cut, pointers_to(partials).data(), destinations.data(), destinations.size(), elements);
    for (const void *found : destinations)
        if (elements != 0 && std::memcmp(found, expected.data(), expected.size()) != 0)
            fail_msg("%s op %d: %s replicas, %zu elements", mdist::dtype_name(dtype), static_cast<int>(op),
                     mdist::text_of(spans).c_str(), elements);
}

void pieces_give_the_bits_of_the_whole(void **) {
    Random random(test_seed(20261122));
    const FloatEnvironment environment;
    for (const int32_t dtype : kDtypes) {
        for (const Op op : kOps) {
            if (!mdist::takes(op, dtype)) continue;
            for (uint32_t replicas = 1; replicas <= 9; ++replicas)
                for (const Spans &spans : mdist::all_spans(replicas))
                    for (const std::size_t elements : {0, 1, 70}) check(random, dtype, op, spans, elements);
            for (uint32_t replicas = 10; replicas <= 17; ++replicas)
                for (uint32_t each = 1; each <= replicas; ++each)
                    if (replicas % each == 0)
                        check(random, dtype, op, Spans::even(replicas / each, each), 1 + random() % 70);
        }
    }
}

/// Workers' partials merged to those of hosts of `hosted` workers each give what the hosts' replicas give.
void check_merging(Random &random, int32_t dtype, Op op, const Spans &spans, uint32_t hosted) {
    constexpr std::size_t kElements = 1029;
    const Operation operation = {dtype, op, spans.replicas()};
    const Cut fine(spans);
    const Cut coarse(spans.grouped(hosted));
    std::vector<Bytes> values(fine.replicas(), Bytes(kElements * mdist::dtype_size(operation.dtype)));
    for (Bytes &value : values) mdist::fill_elements(random, operation.dtype, value.data(), kElements);
    const std::vector<Bytes> expected = partials_of(operation, coarse, values, kElements);
    const std::vector<Bytes> partials = partials_of(operation, fine, values, kElements);
    for (uint32_t i = 0; i < expected.size(); ++i) {
        Bytes merged(expected[i].size());
        merge_partials(operation, fine, coarse, i, pointers_to(partials).data(), merged.data(), kElements);
        if (merged != expected[i])
            fail_msg("%s op %d: partial %u of %s replicas, hosts of %u workers", mdist::dtype_name(dtype),
                     static_cast<int>(op), i, mdist::text_of(spans).c_str(), hosted);
    }
}

void partials_merge_to_those_of_a_coarser_cut(void **) {
    Random random(test_seed(7));
    const FloatEnvironment environment;
    for (const int32_t dtype : kDtypes)
        for (const Op op : kOps)
            for (const uint32_t hosts : {2, 3, 5})
                for (const uint32_t hosted : {1, 2, 3, 4, 7, 12})
                    for (const uint32_t each : {1, 2, 3, 5})
                        if (mdist::takes(op, dtype)) {
                            check_merging(random, dtype, op, Spans::even(hosts * hosted, each), hosted);
                            check_merging(random, dtype, op, mdist::random_spans(random, hosts * hosted, each), hosted);
                        }
}

void many_replicas_and_elements_take_blocks(void **) {
    Random random(test_seed(1));
    const FloatEnvironment environment;
    for (const int32_t dtype : {MDIST_FLOAT32, MDIST_BFLOAT16, MDIST_FLOAT64})
        for (const uint32_t workers : {1, 2, 3, 8, 9, 11, 40})
            for (const uint32_t each : {1, 2, 3, 5, 8, 12, 16}) {
                check(random, dtype, Op::kMean, Spans::even(workers, each), 3001);
                check(random, dtype, Op::kMean, mdist::random_spans(random, workers, each), 3001);
            }
}

/// The node of the tree that begins and ends there, or false.
bool is_node(uint32_t begin, uint32_t end, const Subtree &wanted) {
    if (wanted == Subtree{begin, end}) return true;
    if (end - begin == 1) return false;
    const uint32_t middle = begin + std::bit_floor(end - begin - 1);
    return is_node(begin, middle, wanted) || is_node(middle, end, wanted);
}

/// Nodes, each whole on one worker, of which no two that one worker holds make up a larger one.
void check_nodes(const Spans &spans) {
    const Cut cut(spans);
    uint32_t next = 0;
    for (uint32_t worker = 0; worker < spans.workers(); ++worker) {
        for (uint32_t i = cut.first(worker); i < cut.first(worker + 1); ++i) {
            const Subtree &subtree = cut.subtrees()[i];
            assert_int_equal(subtree.begin, next);
            assert_true(is_node(0, spans.replicas(), subtree));
            if (i > cut.first(worker))
                assert_false(is_node(0, spans.replicas(), {cut.subtrees()[i - 1].begin, subtree.end}));
            next = subtree.end;
        }
        assert_int_equal(next, spans[worker].last);
    }
}

void a_cut_is_made_of_the_largest_nodes_that_one_worker_holds(void **) {
    Random random(test_seed(3));
    for (uint32_t workers = 1; workers <= 20; ++workers) {
        for (uint32_t each = 1; each <= 20; ++each) {
            check_nodes(Spans::even(workers, each));
            check_nodes(mdist::random_spans(random, workers, each));
            const Cut cut(Spans::even(workers, each));
            if (std::has_single_bit(each)) assert_int_equal(cut.subtrees().size(), workers);
            assert_int_equal(cut.leaves(), each == 1);
        }
    }
}

void spans_that_do_not_fit_the_tree_are_cut_as_it_is(void **) {
    const Cut thirds(Spans({3, 3})); // (0 1)(2 | 3)(4 5) of ((01)(23))(45)
    const std::vector<Subtree> of_thirds = {{0, 2}, {2, 3}, {3, 4}, {4, 6}};
    assert_true(thirds.subtrees() == of_thirds);
    assert_int_equal(thirds.first(1), 2);

    const Cut mixed(Spans({1, 4, 2})); // (0 | 1)(2 3)(4 | 5)(6) of ((01)(23))((45)6)
    const std::vector<Subtree> of_mixed = {{0, 1}, {1, 2}, {2, 4}, {4, 5}, {5, 6}, {6, 7}};
    assert_true(mixed.subtrees() == of_mixed);
    assert_int_equal(mixed.first(1), 1);
    assert_int_equal(mixed.first(2), 4);
    assert_int_equal(mixed.most(), 3);

    const Cut single(Spans({1, 2})); // values alone, although worker 1 has two of them
    assert_true(single.leaves());
    assert_int_equal(single.count(1), 2);
}

void spans_tell_whose_a_replica_is(void **) {
    for (const Spans &spans : mdist::all_spans(7)) {
        uint32_t next = 0;
        for (uint32_t worker = 0; worker < spans.workers(); ++worker) {
            assert_int_equal(spans[worker].first, next);
            for (; next < spans[worker].last; ++next) assert_int_equal(spans.worker_of(next), worker);
        }
        assert_int_equal(spans.replicas(), 7);
    }
    const Spans hosts = Spans({1, 4, 2, 3, 2}).grouped(2);
    assert_string_equal(mdist::text_of(hosts).c_str(), "5+5+2");
    assert_false(hosts.are_even());
    assert_int_equal(hosts.most(), 5);
}

} // namespace

SUBJECT(reduce_partials) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(pieces_give_the_bits_of_the_whole),
        cmocka_unit_test(partials_merge_to_those_of_a_coarser_cut),
        cmocka_unit_test(many_replicas_and_elements_take_blocks),
        cmocka_unit_test(a_cut_is_made_of_the_largest_nodes_that_one_worker_holds),
        cmocka_unit_test(spans_that_do_not_fit_the_tree_are_cut_as_it_is),
        cmocka_unit_test(spans_tell_whose_a_replica_is),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

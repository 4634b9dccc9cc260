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
#include "reduce_support.h"

namespace {

using mdist::Random;
using namespace mdist::reduce;
using Bytes = std::vector<unsigned char>;

constexpr int32_t kDtypes[] = {MDIST_FLOAT32, MDIST_FLOAT64, MDIST_FLOAT16, MDIST_BFLOAT16, MDIST_INT8,
                               MDIST_UINT8,   MDIST_INT32,   MDIST_UINT32,  MDIST_INT64,    MDIST_UINT64};
constexpr Op kOps[] = {Op::kSum, Op::kMean, Op::kMin, Op::kMax, Op::kProd};

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
void check(Random &random, const Operation &operation, uint32_t replicas, uint32_t per_worker, std::size_t elements) {
    const std::size_t size = mdist::dtype_size(operation.dtype);
    std::vector<Bytes> values(replicas, Bytes(elements * size));
    for (Bytes &value : values) mdist::fill_elements(random, operation.dtype, value.data(), elements);
    Bytes expected(elements * size);
    void *destination = expected.data();
    reduce_reference(operation, pointers_to(values).data(), replicas, &destination, 1, elements);

    const Cut cut(replicas, per_worker);
    std::vector<Bytes> partials = partials_of(operation, cut, values, elements);
    std::vector<Bytes> results(2, Bytes(elements * size));
    std::vector<void *> destinations = {results[0].data(), results[1].data()};
    if (partial_size(operation.dtype, cut) == size) destinations.push_back(partials[random() % partials.size()].data());
    combine_partials(operation, cut, pointers_to(partials).data(), destinations.data(), destinations.size(), elements);
    for (const void *found : destinations)
        if (elements != 0 && std::memcmp(found, expected.data(), expected.size()) != 0)
            fail_msg("%s op %d: %u replicas by %u, %zu elements", mdist::dtype_name(operation.dtype),
                     static_cast<int>(operation.op), replicas, per_worker, elements);
}

void pieces_give_the_bits_of_the_whole(void **) {
    Random random(20261122);
    const FloatEnvironment environment;
    for (const int32_t dtype : kDtypes) {
        for (const Op op : kOps) {
            if (op == Op::kMean && mdist::dtype_is_integer(dtype)) continue;
            for (uint32_t replicas = 1; replicas <= 17; ++replicas)
                for (uint32_t per_worker = 1; per_worker <= replicas; ++per_worker)
                    if (replicas % per_worker == 0)
                        for (const std::size_t elements : {0, 1, 70})
                            check(random, {dtype, op, replicas}, replicas, per_worker, elements);
        }
    }
}

/// Workers' partials merged to those of hosts of `hosted` workers each give what the hosts' replicas give.
void check_merging(Random &random, const Operation &operation, uint32_t hosted, uint32_t per_worker) {
    constexpr std::size_t kElements = 1029;
    const Cut fine(static_cast<uint32_t>(operation.divisor), per_worker);
    const Cut coarse(static_cast<uint32_t>(operation.divisor), hosted * per_worker);
    std::vector<Bytes> values(fine.replicas(), Bytes(kElements * mdist::dtype_size(operation.dtype)));
    for (Bytes &value : values) mdist::fill_elements(random, operation.dtype, value.data(), kElements);
    const std::vector<Bytes> expected = partials_of(operation, coarse, values, kElements);
    const std::vector<Bytes> partials = partials_of(operation, fine, values, kElements);
    for (uint32_t i = 0; i < expected.size(); ++i) {
        Bytes merged(expected[i].size());
        merge_partials(operation, fine, coarse, i, pointers_to(partials).data(), merged.data(), kElements);
        if (merged != expected[i])
            fail_msg("%s op %d: partial %u of %u replicas, %u x %u of a host", mdist::dtype_name(operation.dtype),
                     static_cast<int>(operation.op), i, fine.replicas(), hosted, per_worker);
    }
}

void partials_merge_to_those_of_a_coarser_cut(void **) {
    Random random(7);
    const FloatEnvironment environment;
    for (const int32_t dtype : kDtypes)
        for (const Op op : kOps)
            for (const uint32_t hosts : {2, 3, 5})
                for (const uint32_t hosted : {1, 2, 3, 4, 7, 12})
                    for (const uint32_t per_worker : {1, 2, 3, 5})
                        if (op != Op::kMean || !mdist::dtype_is_integer(dtype))
                            check_merging(random, {dtype, op, hosts * hosted * per_worker}, hosted, per_worker);
}

void many_replicas_and_elements_take_blocks(void **) {
    Random random(1);
    const FloatEnvironment environment;
    for (const int32_t dtype : {MDIST_FLOAT32, MDIST_BFLOAT16, MDIST_FLOAT64})
        for (const uint32_t workers : {1, 2, 3, 8, 9, 11, 40})
            for (const uint32_t per_worker : {1, 2, 3, 5, 8, 12, 16})
                check(random, {dtype, Op::kMean, workers * per_worker}, workers * per_worker, per_worker, 3001);
}

/// The node of the tree that begins and ends there, or false.
bool is_node(uint32_t begin, uint32_t end, const Subtree &wanted) {
    if (wanted == Subtree{begin, end}) return true;
    if (end - begin == 1) return false;
    const uint32_t middle = begin + std::bit_floor(end - begin - 1);
    return is_node(begin, middle, wanted) || is_node(middle, end, wanted);
}

void a_cut_is_made_of_the_largest_nodes_that_one_worker_holds(void **) {
    for (uint32_t workers = 1; workers <= 20; ++workers) {
        for (uint32_t per_worker = 1; per_worker <= 20; ++per_worker) {
            const uint32_t replicas = workers * per_worker;
            const Cut cut(replicas, per_worker);
            uint32_t next = 0;
            for (uint32_t worker = 0; worker < workers; ++worker) {
                for (uint32_t i = cut.first(worker); i < cut.first(worker + 1); ++i) {
                    const Subtree &subtree = cut.subtrees()[i];
                    assert_int_equal(subtree.begin, next);
                    assert_true(is_node(0, replicas, subtree));
                    next = subtree.end;
                }
                assert_int_equal(next, (worker + 1) * per_worker);
                if (std::has_single_bit(per_worker)) assert_int_equal(cut.count(worker), 1);
            }
            assert_int_equal(cut.leaves(), per_worker == 1);
        }
    }
}

void uneven_shares_are_cut_as_the_tree_is(void **) {
    const Cut cut(6, 3); // (0 1)(2 | 3)(4 5) of ((01)(23))(45)
    const std::vector<Subtree> expected = {{0, 2}, {2, 3}, {3, 4}, {4, 6}};
    assert_true(cut.subtrees() == expected);
    assert_int_equal(cut.first(1), 2);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(pieces_give_the_bits_of_the_whole),
        cmocka_unit_test(partials_merge_to_those_of_a_coarser_cut),
        cmocka_unit_test(many_replicas_and_elements_take_blocks),
        cmocka_unit_test(a_cut_is_made_of_the_largest_nodes_that_one_worker_holds),
        cmocka_unit_test(uneven_shares_are_cut_as_the_tree_is),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

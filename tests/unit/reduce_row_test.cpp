// SPDX-License-Identifier: Apache-2.0
// ReduceRow: any range of a row of buffers can be given away as partials and taken back as results.
#include "comm/call/reduce_row.h"

#include <memory>

#include "job_support.h"
#include "subject.h"

namespace {

using namespace mdist;

/// Reduces a row range by range, as workers would who know nothing but each other's partials.
void reduce_by_ranges(Random &random, const ReduceJob &job, const std::vector<std::unique_ptr<ReduceRow>> &flats) {
    const reduce::FloatEnvironment environment;
    const ReduceRow &first = *flats[0];
    for (uint64_t begin = 0; begin < first.elements();) {
        const uint64_t count = 1 + random() % (first.elements() - begin);
        std::vector<std::vector<unsigned char>> partials;
        for (const auto &row : flats)
            for (uint32_t i = 0; i < row->partial_count(); ++i) {
                partials.emplace_back(count * row->partial_size());
                row->partial(i, begin, count, partials.back().data());
                const void *in_place = row->partial_in_place(begin, count);
                if (in_place != nullptr) assert_memory_equal(in_place, partials.back().data(), partials.back().size());
            }
        std::vector<const void *> sources;
        for (const auto &partial : partials) sources.push_back(partial.data());
        std::vector<unsigned char> result(count * dtype_size(first.dtype()));
        void *to = result.data();
        reduce::combine_partials(first.operation(), job.cut(), sources.data(), &to, 1, count);
        for (const auto &row : flats) {
            void *in_place = row->output_in_place(begin, count);
            if (in_place == nullptr) {
                row->store(begin, count, result.data());
            } else {
                std::memcpy(in_place, result.data(), result.size());
                row->spread(begin, count);
            }
        }
        begin += count;
    }
}

void any_ranges_of_a_row_give_the_result_of_the_whole(void **) {
    for (const uint32_t seed : seeds(300, 3000)) {
        Random random(seed);
        const uint32_t workers = 1 + random() % 4;
        const reduce::Op op = random_op(random);
        const ReduceJob job(random, random_spans(random, workers, 4), op, random_shapes(random, op, 300), random() % 2);
        uint64_t elements = 0;
        for (const int32_t dtype : dtypes_of(job.call(0))) {
            std::vector<std::unique_ptr<ReduceRow>> flats;
            for (uint32_t worker = 0; worker < workers; ++worker)
                flats.push_back(std::make_unique<ReduceRow>(job.calls(worker), dtype, job.cut(), worker));
            reduce_by_ranges(random, job, flats);
            elements += flats[0]->elements();
        }
        uint64_t expected = 0;
        for (std::size_t b = 0; b < job.call(0).buffer_count; ++b) expected += job.call(0).inputs[b].elements;
        assert_int_equal(elements, expected);
        for (uint32_t worker = 0; worker < workers; ++worker)
            if (!job.right(worker)) fail_msg("seed %u: worker %u", seed, worker);
    }
}

void a_range_in_one_buffer_stands_in_place(void **) {
    Random random(test_seed(1));
    const ReduceJob job(random, Spans::even(2, 1), reduce::Op::kSum,
                        {{MDIST_FLOAT16, 10}, {MDIST_INT8, 4}, {MDIST_FLOAT16, 6}}, false);
    const ReduceRow row(job.calls(1), MDIST_FLOAT16, job.cut(), 1);
    const Call &call = job.call(1);
    assert_int_equal(row.elements(), 16);
    assert_int_equal(row.partial_size(), 2);
    assert_ptr_equal(row.partial_in_place(0, 10), call.inputs[0].data);
    assert_ptr_equal(row.partial_in_place(12, 4), static_cast<char *>(call.inputs[2].data) + 4);
    assert_null(row.partial_in_place(9, 2));
    assert_ptr_equal(row.output_in_place(3, 7), static_cast<char *>(call.outputs[0].data) + 6);
    assert_null(row.output_in_place(3, 8));
}

void nothing_but_empty_buffers_is_an_empty_row(void **) {
    Random random(test_seed(1));
    const ReduceJob job(random, Spans::even(1, 2), reduce::Op::kSum, {{MDIST_FLOAT32, 0}, {MDIST_FLOAT32, 0}}, false);
    const ReduceRow row(job.calls(0), MDIST_FLOAT32, job.cut(), 0);
    assert_int_equal(row.elements(), 0);
    assert_null(row.output_in_place(0, 0));
    row.partial(0, 0, 0, nullptr);
    row.store(0, 0, nullptr);
    row.spread(0, 0);
}

} // namespace

SUBJECT(reduce_row) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(any_ranges_of_a_row_give_the_result_of_the_whole),
        cmocka_unit_test(a_range_in_one_buffer_stands_in_place),
        cmocka_unit_test(nothing_but_empty_buffers_is_an_empty_row),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// SPDX-License-Identifier: Apache-2.0
// The GPU's kernels on the CPU: what each thread of a launch does, one after another, against the library's own
// arithmetic, bit for bit. No toolkit is needed; that a GPU's instructions round as a CPU's do is for tests/gpu.
#include "mdist_test.h"

#include "cuda/copy_plan.h"
#include "cuda/reduce_plan.h"
#include "cuda/squares_plan.h"
#include "cuda/transform_chunk.h"
#include "reduce/arithmetic.h"
#include "reduce/half.h"
#include "reduce_reference.h"
#include "reduce_support.h"
#include "subject.h"

#include <mdist/collective.h>

#include <cmath>
#include <vector>

namespace {

using namespace mdist;

constexpr int32_t kDtypes[] = {MDIST_FLOAT32, MDIST_FLOAT64, MDIST_FLOAT16, MDIST_BFLOAT16, MDIST_INT8,
                               MDIST_UINT8,   MDIST_INT32,   MDIST_UINT32,  MDIST_INT64,    MDIST_UINT64,
                               MDIST_INT16,   MDIST_UINT16,  MDIST_BOOL};
constexpr int32_t kOps[] = {MDIST_SUM, MDIST_MEAN, MDIST_MIN, MDIST_MAX,
                             MDIST_PROD, MDIST_AND, MDIST_OR, MDIST_XOR};

/// A launch's threads, in an order that no GPU would take.
template <typename Thread>
void play(uint32_t chunks, Thread thread) {
    for (uint32_t chunk = chunks; chunk-- > 0;)
        for (unsigned t = cuda::kThreads; t-- > 0;) thread(chunk, t);
}

template <typename Format, unsigned sources>
void play_sums(const cuda::SumBatch &batch) {
    play(batch.chunks, [&](uint32_t chunk, unsigned t) { cuda::sum_chunk<Format, sources>(batch, chunk, t); });
}

template <typename Format>
void play_unrolled(unsigned sources, const cuda::SumBatch &batch) {
    constexpr void (*ways[])(const cuda::SumBatch &) = {
        play_sums<Format, 1>, play_sums<Format, 2>, play_sums<Format, 3>, play_sums<Format, 4>,
        play_sums<Format, 5>, play_sums<Format, 6>, play_sums<Format, 7>, play_sums<Format, 8>};
    ways[sources - 1](batch);
}

int play_batch(const cuda::ReduceWay &way, const cuda::SumBatch &batch) {
    if (way.dtype == MDIST_FLOAT32) play_unrolled<cuda::Plain<float>>(way.sources, batch);
    if (way.dtype == MDIST_FLOAT64) play_unrolled<cuda::Plain<double>>(way.sources, batch);
    if (way.dtype == MDIST_FLOAT16) play_unrolled<cuda::Float16>(way.sources, batch);
    if (way.dtype == MDIST_BFLOAT16) play_unrolled<cuda::Bfloat16>(way.sources, batch);
    return 0;
}

template <typename Format>
int play_any(const cuda::AnyBatch &batch) {
    play(batch.chunks, [&](uint32_t chunk, unsigned t) { cuda::reduce_chunk<Format>(batch, chunk, t); });
    return 0;
}

int play_batch(const cuda::ReduceWay &way, const cuda::AnyBatch &batch) {
    switch (way.dtype) {
        case MDIST_FLOAT32:
            return play_any<cuda::Plain<float>>(batch);
        case MDIST_FLOAT64:
            return play_any<cuda::Plain<double>>(batch);
        case MDIST_FLOAT16:
            return play_any<cuda::Float16>(batch);
        case MDIST_BFLOAT16:
            return play_any<cuda::Bfloat16>(batch);
        case MDIST_BOOL:
            return play_any<cuda::Bool>(batch);
        default:
            if (cuda::element_size(way.dtype) == 2) return play_any<cuda::Plain<uint16_t>>(batch);
            if (cuda::element_size(way.dtype) == 1) return play_any<cuda::Plain<uint8_t>>(batch);
            if (cuda::element_size(way.dtype) == 4) return play_any<cuda::Plain<uint32_t>>(batch);
            return play_any<cuda::Plain<uint64_t>>(batch);
    }
}

/// Launches that it took, or -1 where the reductions were refused.
int play_reductions(const std::vector<mdist_gpu_reduction> &reductions) {
    int launches = 0;
    const int error = cuda::for_each_batch(reductions.data(), reductions.size(), -1, [&](const auto &way, auto &batch) {
        ++launches;
        return play_batch(way, batch);
    });
    return error != 0 ? error : launches;
}

/// Memory at a given offset from a multiple of 16, in front of and behind which nothing may be written.
class Guarded {
  public:
    Guarded(std::size_t bytes, std::size_t offset)
        : bytes_(bytes), offset_(kMargin + offset), all_(new (std::align_val_t(64)) unsigned char[bytes + 192]) {
        std::memset(all_, 0xa5, bytes + 192);
    }
    ~Guarded() { ::operator delete[](all_, std::align_val_t(64)); }
    Guarded(Guarded &&other) noexcept : bytes_(other.bytes_), offset_(other.offset_), all_(other.all_) {
        other.all_ = nullptr;
    }

    unsigned char *data() const { return all_ + offset_; }
    bool margins_are_whole() const {
        bool whole = true;
        for (std::size_t i = 0; i < bytes_ + 192; ++i)
            whole = whole && ((i >= offset_ && i < offset_ + bytes_) || all_[i] == 0xa5);
        return whole;
    }

  private:
    static constexpr std::size_t kMargin = 64;
    std::size_t bytes_;
    std::size_t offset_;
    unsigned char *all_;
};

/// How arrays of a case lie: alike, by elements apart, or anywhere.
enum class Lie { kPlain, kAlike, kElements, kAnywhere };

std::size_t offset_of(Random &random, Lie lie, std::size_t size, std::size_t alike) {
    switch (lie) {
        case Lie::kPlain:
            return 0;
        case Lie::kAlike:
            return alike * size % 16;
        case Lie::kElements:
            return random() % (16 / size) * size;
        default:
            return random() % 16;
    }
}

/// One reduction with its arrays, and what has to come out of it.
struct Case {
    std::vector<Guarded> arrays; // sources, then destinations but the first, which is the last source
    std::vector<const void *> sources;
    std::vector<void *> destinations;
    std::vector<unsigned char> expected;
    mdist_gpu_reduction reduction = {};

    Case(Random &random, int32_t dtype, int32_t op, uint32_t count, std::size_t elements, Lie lie) {
        const std::size_t size = dtype_size(dtype);
        const std::size_t bytes = elements * size;
        const std::size_t alike = random();
        for (uint32_t i = 0; i < count + 1; ++i) {
            arrays.emplace_back(bytes, offset_of(random, lie, size, alike));
            fill_elements(random, dtype, arrays.back().data(), elements);
            if (i < count) sources.push_back(arrays.back().data());
        }
        destinations = {arrays[count - 1].data(), arrays[count].data()};
        expected.resize(bytes);
        void *const to = expected.data();
        const uint64_t divisor = count == 1 ? 3 : count;
        reduce::reduce_reference({dtype, static_cast<reduce::Op>(op), divisor}, sources.data(), count, &to, 1,
                                 elements);
        reduction = {dtype, op, divisor, count, 2, sources.data(), destinations.data(), elements};
    }

    bool is_right() const {
        for (const void *to : destinations)
            if (!expected.empty() && std::memcmp(to, expected.data(), expected.size()) != 0) return false;
        for (const Guarded &array : arrays)
            if (!array.margins_are_whole()) return false;
        return true;
    }
};

void reductions_have_the_bits_of_the_reference(void **) {
    Random random(test_seed(15));
    const uint32_t counts[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 100};
    const std::size_t most = tiered(700, 20'000);
    for (const int32_t dtype : kDtypes) {
        for (const int32_t op : kOps) {
            if (!takes(op, dtype)) continue;
            for (const uint32_t count : counts) {
                for (const Lie lie : {Lie::kPlain, Lie::kAlike, Lie::kElements, Lie::kAnywhere}) {
                    const Case one(random, dtype, op, count, random() % most, lie);
                    play_reductions({one.reduction});
                    if (!one.is_right())
                        fail_msg("dtype %d, op %d, %u sources, %zu elements, lie %d", dtype, op, count,
                                 static_cast<std::size_t>(one.reduction.elements), static_cast<int>(lie));
                }
            }
        }
    }
}

void chunks_of_many_packets_have_no_gaps(void **) {
    Random random(test_seed(16));
    for (const int32_t dtype : kDtypes) {
        for (const uint32_t count : {1u, 2u, 3u, 8u, 9u}) {
            const int32_t op = dtype == MDIST_BOOL ? MDIST_XOR : MDIST_SUM;
            const Case one(random, dtype, op, count, 40000 + random() % 64, Lie::kAlike);
            assert_int_equal(play_reductions({one.reduction}), 1);
            assert_true(one.is_right());
        }
    }
}

void reductions_that_are_alike_share_launches(void **) {
    Random random(test_seed(17));
    std::vector<Case> cases;
    std::vector<mdist_gpu_reduction> reductions;
    for (int i = 0; i < 100; ++i)
        cases.emplace_back(random, MDIST_FLOAT32, MDIST_SUM, 2, 1 + random() % 50, Lie::kPlain);
    for (int i = 0; i < 3; ++i) cases.emplace_back(random, MDIST_INT8, MDIST_MAX, 3, random() % 50, Lie::kAnywhere);
    cases.emplace_back(random, MDIST_FLOAT32, MDIST_SUM, 1000, 70, Lie::kPlain);
    for (const Case &one : cases) reductions.push_back(one.reduction);
    assert_int_equal(play_reductions(reductions), 3 + 1 + 1); // 48 at once of the first
    for (const Case &one : cases) assert_true(one.is_right());
}

void reductions_that_do_not_exist_are_refused(void **) {
    Random random(test_seed(18));
    const Case one(random, MDIST_INT32, MDIST_SUM, 2, 5, Lie::kPlain);
    mdist_gpu_reduction wrong = one.reduction;
    wrong.op = MDIST_MEAN;
    assert_int_equal(play_reductions({one.reduction, wrong}), -1);
    wrong = one.reduction;
    wrong.dtype = MDIST_BOOL + 1;
    assert_int_equal(play_reductions({wrong}), -1);
    wrong.dtype = MDIST_BOOL;
    for (wrong.op = 1; wrong.op < 12; ++wrong.op)
        if (wrong.op > MDIST_XOR || !takes(wrong.op, MDIST_BOOL)) assert_int_equal(play_reductions({wrong}), -1);
    wrong.dtype = MDIST_FLOAT32;
    wrong.op = MDIST_XOR;
    assert_int_equal(play_reductions({wrong}), -1);
    wrong = one.reduction;
    wrong.source_count = 0;
    assert_int_equal(play_reductions({wrong}), -1);
    wrong = one.reduction;
    wrong.source_count = 5000;
    assert_int_equal(play_reductions({wrong}), -1);
}

void differences_have_the_bits_of_subtract(void **) {
    Random random(test_seed(19));
    for (const int32_t dtype : kDtypes) {
        if (dtype == MDIST_BOOL) continue; // has no difference
        for (int round = 0; round < 20; ++round) {
            Case one(random, dtype, MDIST_SUM, 2, random() % 900, round % 2 == 0 ? Lie::kAlike : Lie::kAnywhere);
            std::memcpy(one.expected.data(), one.sources[0], one.expected.size());
            reduce::subtract(dtype, one.expected.data(), one.sources[1], one.reduction.elements);
            one.reduction.op = MDIST_GPU_DIFFERENCE;
            assert_int_equal(play_reductions({one.reduction}), one.reduction.elements == 0 ? 0 : 1);
            assert_true(one.is_right());
        }
    }
}

void every_half_widens_and_rounds_as_the_library_does(void **) {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
        const auto half = static_cast<uint16_t>(bits);
        const float value = cuda::Float16::load(half);
        if (std::isnan(value)) {
            assert_int_equal(cuda::Float16::store(value), 0x7e00);
        } else {
            assert_true(static_cast<double>(value) == reduce::half_to_double(half));
            assert_int_equal(cuda::Float16::store(value), half);
        }
    }
    Random random(test_seed(20));
    for (int round = 0; round < 500000; ++round) {
        // Exponents where halves are; then any.
        const uint32_t exponent = static_cast<uint32_t>(100 + random() % 48) << 23;
        const uint32_t bits = static_cast<uint32_t>(random());
        const float value = cuda::same_bits<float>(round % 2 == 0 ? (bits & 0x807fffff) | exponent : bits);
        assert_int_equal(cuda::Float16::store(value), reduce::double_to_half(static_cast<double>(value)));
        assert_int_equal(cuda::Bfloat16::store(value), reduce::double_to_bfloat16(static_cast<double>(value)));
    }
}

void float64_rounds_to_16_bits_once(void **) {
    Random random(test_seed(21));
    for (int round = 0; round < 500000; ++round) {
        uint64_t bits = random();
        // Just beside what lies halfway between two halves, or bfloat16s, where rounding twice goes wrong.
        const double beside = std::ldexp(1.0, -static_cast<int>(random() % 60));
        double value = reduce::half_to_double(static_cast<uint16_t>(bits)) * (1 + 0x1p-11) * (1 + beside);
        if (round % 3 == 1)
            value = reduce::bfloat16_to_double(static_cast<uint16_t>(bits)) * (1 + 0x1p-8) * (1 + beside);
        if (round % 3 == 2) value = cuda::same_bits<double>(bits);
        assert_int_equal(cuda::rounded<cuda::Float16>(value), reduce::double_to_half(value));
        assert_int_equal(cuda::rounded<cuda::Bfloat16>(value), reduce::double_to_bfloat16(value));
    }
}

template <typename Unsigned>
void check_division(Random &random, int32_t dtype) {
    for (const uint64_t divisor : {uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{127}, uint64_t{128}, uint64_t{255},
                                   uint64_t{1000}, uint64_t{1} << 31, uint64_t{1} << 63, UINT64_MAX}) {
        const std::size_t elements = 1100 + random() % 8;
        Guarded array(elements * sizeof(Unsigned), random() % 16);
        fill_elements(random, dtype, array.data(), elements);
        const Unsigned least = static_cast<Unsigned>(Unsigned{1} << (8 * sizeof(Unsigned) - 1));
        std::memcpy(array.data(), &least, sizeof least);
        std::vector<unsigned char> expected(array.data(), array.data() + elements * sizeof(Unsigned));
        reduce::divide(dtype, expected.data(), divisor, elements);
        const unsigned size = sizeof(Unsigned);
        const cuda::DivideWork work = {reinterpret_cast<char *>(array.data()), elements, divisor,
                                       cuda::is_signed(dtype),
                                       cuda::rows_access(array.data(), size, size * cuda::kRow)};
        play(static_cast<uint32_t>(1 + (elements - 1) / cuda::kRowChunk),
             [&](uint32_t chunk, unsigned t) { cuda::divide_chunk<Unsigned>(work, chunk, t); });
        assert_memory_equal(array.data(), expected.data(), expected.size());
        assert_true(array.margins_are_whole());
    }
}

void integers_divide_as_the_library_does(void **) {
    Random random(test_seed(22));
    for (int round = 0; round < 8; ++round) {
        check_division<uint8_t>(random, MDIST_INT8);
        check_division<uint8_t>(random, MDIST_UINT8);
        check_division<uint32_t>(random, MDIST_INT32);
        check_division<uint32_t>(random, MDIST_UINT32);
        check_division<uint64_t>(random, MDIST_INT64);
        check_division<uint64_t>(random, MDIST_UINT64);
    }
}

template <typename Format>
void check_scale(Random &random, int32_t dtype, double factor) {
    using Element = typename Format::Element;
    const std::size_t elements = 1500 + random() % 8;
    Guarded array(elements * sizeof(Element), random() % 2 * (random() % 16));
    fill_elements(random, dtype, array.data(), elements);
    std::vector<unsigned char> expected(array.data(), array.data() + elements * sizeof(Element));
    reduce::scale_reference(dtype, expected.data(), factor, elements);
    char *const data = reinterpret_cast<char *>(array.data());
    const cuda::CastWork work = {data, data, elements, factor,
                                 cuda::rows_access(data, sizeof(Element), sizeof(Element) * cuda::kRow)};
    play(static_cast<uint32_t>(1 + (elements - 1) / cuda::kRowChunk),
         [&](uint32_t chunk, unsigned t) { cuda::cast_chunk<Format, Format>(work, chunk, t); });
    assert_memory_equal(data, expected.data(), expected.size());
    assert_true(array.margins_are_whole());
}

void casts_to_the_type_itself_scale(void **) {
    Random random(test_seed(23));
    for (const double factor : {1.0, 1.0 / 3, -0.1, 1e30, 0.0, 0x1p-130}) {
        check_scale<cuda::Plain<float>>(random, MDIST_FLOAT32, factor);
        check_scale<cuda::Plain<double>>(random, MDIST_FLOAT64, factor);
        check_scale<cuda::Float16>(random, MDIST_FLOAT16, factor);
        check_scale<cuda::Bfloat16>(random, MDIST_BFLOAT16, factor);
    }
}

double added_by_halves(std::vector<double> sums) {
    for (unsigned half = cuda::kThreads / 2; half > 0; half /= 2)
        for (unsigned t = 0; t < cuda::kThreads; ++t) cuda::add_halves(sums.data(), t, half);
    return sums[0];
}

/// The two launches for arrays of one type.
template <typename Format>
void play_squares(const cuda::SquaresBatch &batch) {
    std::vector<double> block_sums(batch.blocks);
    std::vector<double> sums(cuda::kThreads);
    for (uint32_t b = batch.blocks; b-- > 0;) {
        for (unsigned t = 0; t < cuda::kThreads; ++t) sums[t] = cuda::squares_of_thread<Format>(batch, b, t);
        block_sums[b] = added_by_halves(sums);
    }
    for (uint32_t i = 0; i < batch.count; ++i) {
        const cuda::SquaresItem &item = batch.items[i];
        for (unsigned t = 0; t < cuda::kThreads; ++t)
            sums[t] = cuda::sums_of_thread(block_sums.data() + item.first_chunk, item.blocks, t);
        *item.sum = added_by_halves(sums);
    }
}

template <typename Format>
double played_squares(int32_t dtype, const void *data, std::size_t elements) {
    double sum = -1;
    const mdist_gpu_squares item = {dtype, data, elements, &sum};
    cuda::SquaresBatch batch;
    assert_int_equal(cuda::gather(&item, 0, 1, batch), 1);
    play_squares<Format>(batch);
    return sum;
}

/// The sums of every prefix, many in a launch, are those of the prefixes alone.
template <typename Format>
void check_many_squares(int32_t dtype, const void *data, std::size_t elements) {
    constexpr std::size_t kSums = 100;
    double sums[kSums];
    mdist_gpu_squares items[kSums];
    for (std::size_t i = 0; i < kSums; ++i) items[i] = {dtype, data, elements * i / kSums, &sums[i]};
    items[30].dtype = MDIST_INT32; // another type begins another launch
    cuda::SquaresBatch first;
    assert_int_equal(cuda::gather(items, 0, kSums, first), 30);
    items[30].dtype = dtype;
    for (std::size_t next = 0; next < kSums;) {
        cuda::SquaresBatch batch;
        const std::size_t before = next;
        next = cuda::gather(items, next, kSums, batch);
        assert_int_equal(batch.count, next - before);
        play_squares<Format>(batch);
    }
    for (std::size_t i = 0; i < kSums; i += 9)
        assert_true(sums[i] == played_squares<Format>(dtype, data, items[i].elements));
}

template <typename Format>
void check_squares(Random &random, int32_t dtype) {
    using Element = typename Format::Element;
    for (const std::size_t elements : {std::size_t{0}, std::size_t{1}, std::size_t{4097}, std::size_t{100003}}) {
        std::vector<double> ones;
        Guarded array(elements * sizeof(Element), 0);
        Guarded moved(elements * sizeof(Element), 3);
        for (std::size_t i = 0; i < elements; ++i) {
            const auto value = cuda::rounded<Format>(static_cast<double>(static_cast<int64_t>(random())) * 0x1p-63);
            std::memcpy(array.data() + i * sizeof value, &value, sizeof value);
        }
        if (elements > 0) std::memcpy(moved.data(), array.data(), elements * sizeof(Element));
        const double sum = played_squares<Format>(dtype, array.data(), elements);
        assert_true(sum == played_squares<Format>(dtype, moved.data(), elements));
        if (elements == 4097) check_many_squares<Format>(dtype, array.data(), elements);
        const double other = reduce::sum_of_squares_reference(dtype, array.data(), elements);
        assert_true(std::fabs(sum - other) <= 1e-12 * other);
    }
}

void squares_depend_on_the_elements_and_not_on_where_they_lie(void **) {
    Random random(test_seed(24));
    check_squares<cuda::Plain<float>>(random, MDIST_FLOAT32);
    check_squares<cuda::Plain<double>>(random, MDIST_FLOAT64);
    check_squares<cuda::Float16>(random, MDIST_FLOAT16);
    check_squares<cuda::Bfloat16>(random, MDIST_BFLOAT16);
}

void copies_of_every_alignment_arrive_whole(void **) {
    Random random(test_seed(25));
    std::vector<Guarded> from;
    std::vector<Guarded> to;
    std::vector<mdist_gpu_stretch> stretches;
    for (int i = 0; i < 1500; ++i) {
        const std::size_t bytes = i % 100 == 0 ? 60000 + random() % 100 : random() % 200;
        from.emplace_back(bytes, random() % 16);
        to.emplace_back(bytes, i % 3 == 0 ? reinterpret_cast<uintptr_t>(from.back().data()) % 16 : random() % 16);
        fill_elements(random, MDIST_UINT8, from.back().data(), bytes);
        stretches.push_back({to.back().data(), from.back().data(), bytes});
    }
    std::size_t next = 0;
    int launches = 0;
    while (next < stretches.size()) {
        cuda::LargeCopyBatch batch;
        next = cuda::gather(stretches.data(), next, stretches.size(), batch);
        ++launches;
        play(batch.chunks, [&](uint32_t chunk, unsigned t) { cuda::copy_chunk(batch, chunk, t); });
    }
    assert_int_equal(launches, 2);
    for (std::size_t i = 0; i < stretches.size(); ++i) {
        if (stretches[i].bytes != 0) assert_memory_equal(stretches[i].to, stretches[i].from, stretches[i].bytes);
        assert_true(to[i].margins_are_whole());
    }
}

} // namespace

SUBJECT(gpu_kernels) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions_have_the_bits_of_the_reference),
        cmocka_unit_test(chunks_of_many_packets_have_no_gaps),
        cmocka_unit_test(reductions_that_are_alike_share_launches),
        cmocka_unit_test(reductions_that_do_not_exist_are_refused),
        cmocka_unit_test(differences_have_the_bits_of_subtract),
        cmocka_unit_test(every_half_widens_and_rounds_as_the_library_does),
        cmocka_unit_test(float64_rounds_to_16_bits_once),
        cmocka_unit_test(integers_divide_as_the_library_does),
        cmocka_unit_test(casts_to_the_type_itself_scale),
        cmocka_unit_test(squares_depend_on_the_elements_and_not_on_where_they_lie),
        cmocka_unit_test(copies_of_every_alignment_arrive_whole),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

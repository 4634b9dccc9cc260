// SPDX-License-Identifier: Apache-2.0
// Measures datasets beside floors: bare loops that do the same work and nothing else. Both run in turns, in one process
// and on one thread. Usage: data_bench [ROUNDS]. Prints for each case the medians of both, and the median and the range
// of the rounds' ratios.
#include "util/clock.h"
#include "util/crc32c.h"

#include <mdist/mdist.h>

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

using namespace mdist;

namespace {

int rounds = 15;

constexpr std::size_t kBatch = 128;

void must(mdist_status_t status, mdist_error_t *error) {
    if (status >= 0) return;
    std::fprintf(stderr, "data_bench: %s\n", mdist_error_message(error));
    std::exit(1);
}

/// The result of a loop, so that nobody leaves it out.
volatile uint64_t kept;

double now(clockid_t clock) {
    timespec at = {};
    clock_gettime(clock, &at);
    return static_cast<double>(at.tv_sec) + static_cast<double>(at.tv_nsec) * 1e-9;
}

double seconds(clockid_t clock, const std::function<void()> &work) {
    const double start = now(clock);
    work();
    return now(clock) - start;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// Each side processes `bytes` in one call. Work on one thread is measured in processor time, which other programs
/// affect less.
void compare(const char *name, double bytes, const std::function<void()> &floor, const std::function<void()> &library,
             clockid_t clock = CLOCK_THREAD_CPUTIME_ID) {
    floor();
    library();
    std::vector<double> bare, ours, ratios;
    for (int i = 0; i < rounds; ++i) {
        bare.push_back(seconds(clock, floor));
        ours.push_back(seconds(clock, library));
        ratios.push_back(ours.back() / bare.back());
    }
    const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
    std::printf("%-44s %8.2f GB/s  floor %8.2f GB/s  time x %.2f (%.2f to %.2f), speed %3.0f %%\n", name,
                bytes / median(ours) * 1e-9, bytes / median(bare) * 1e-9, median(ratios), *least, *most,
                100 / median(ratios));
}

/// Iterates a dataset once, to its end.
void run_through(const mdist_dataset_t *dataset) {
    mdist_error_t *error = nullptr;
    mdist_iterator_t *iterator = nullptr;
    must(mdist_iterator_create(dataset, &iterator, &error), error);
    for (mdist_status_t status = MDIST_OK; status != MDIST_END;) {
        mdist_value_t *value = nullptr;
        must(status = mdist_iterator_next(iterator, &value, 1, &error), error);
        mdist_value_destroy(value);
    }
    mdist_iterator_destroy(iterator);
}

template <class Make>
mdist_dataset_t *made(const Make &make) {
    mdist_dataset_t *out = nullptr;
    mdist_error_t *error = nullptr;
    must(make(&out, &error), error);
    return out;
}

template <class Make>
mdist_dataset_t *made_from(mdist_dataset_t *source, const Make &make) {
    mdist_dataset_t *out = made([&](auto to, auto error) { return make(source, to, error); });
    mdist_dataset_destroy(source);
    return out;
}

mdist_dataset_t *rows_of(void *data, mdist_dtype_t dtype, std::vector<uint64_t> shape) {
    mdist_tensor_t array;
    mdist_error_t *error = nullptr;
    must(mdist_tensor_describe(data, dtype, shape.data(), shape.size(), &array, &error), error);
    return made(
        [&](auto to, auto why) { return mdist_dataset_from_tensors(&array, 1, nullptr, nullptr, to, nullptr, why); });
}

mdist_dataset_t *batches(mdist_dataset_t *source, uint64_t size) {
    return made_from(source,
                     [&](auto from, auto to, auto why) { return mdist_dataset_batch(from, size, to, nullptr, why); });
}
mdist_dataset_t *shuffled(mdist_dataset_t *source, uint64_t buffer) {
    return made_from(
        source, [&](auto from, auto to, auto why) { return mdist_dataset_shuffle(from, buffer, 1, to, nullptr, why); });
}

uint32_t masked(uint32_t crc) {
    return (crc >> 15 | crc << 17) + 0xa282ead8;
}

void put(FILE *file, const void *data, std::size_t bytes) {
    if (std::fwrite(data, 1, bytes, file) != bytes) std::exit(1);
}

void write_records(const std::string &path, std::size_t record, std::size_t count) {
    std::vector<char> data(record);
    for (std::size_t i = 0; i < record; ++i) data[i] = static_cast<char>(i * 37);
    FILE *file = std::fopen(path.c_str(), "wb");
    if (file == nullptr) std::exit(1);
    const uint64_t length = record;
    const uint32_t of_length = masked(crc32c(&length, sizeof length)), of_data = masked(crc32c(data.data(), record));
    for (std::size_t i = 0; i < count; ++i) {
        put(file, &length, sizeof length);
        put(file, &of_length, sizeof of_length);
        put(file, data.data(), record);
        put(file, &of_data, sizeof of_data);
    }
    std::fclose(file);
}

void read_and_check(const std::string &path, std::vector<char> &buffer) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    uint32_t crc = 0;
    for (ssize_t got; (got = ::read(fd, buffer.data(), buffer.size())) > 0;)
        crc = crc32c(buffer.data(), static_cast<std::size_t>(got), crc);
    ::close(fd);
    kept = crc;
}

void tfrecords(const std::string &folder, std::size_t record) {
    const std::string path = folder + "/records";
    const std::size_t bytes = std::size_t{64} << 20, count = bytes / record;
    write_records(path, record, count);
    std::vector<char> buffer(256 << 10);
    const char *name = path.c_str();
    mdist_dataset_t *files = made([&](auto to, auto why) { return mdist_dataset_files(&name, 1, to, nullptr, why); });
    mdist_dataset_t *records =
        made_from(files, [&](auto from, auto to, auto why) { return mdist_dataset_tfrecords(from, to, nullptr, why); });
    const std::string what = "TFRecord, " + std::to_string(record) + " bytes each";
    const auto floor = [&] { read_and_check(path, buffer); };
    compare(what.c_str(), static_cast<double>(bytes), floor, [&] { run_through(records); });
    mdist_dataset_t *joined = batches(records, kBatch);
    compare((what + ", batches of 128").c_str(), static_cast<double>(bytes), floor, [&] { run_through(joined); });
    mdist_dataset_destroy(joined);
    std::remove(path.c_str());
}

constexpr std::size_t kRow = 3 << 10, kRows = 128 * 100;

void in_memory(bool shuffle) {
    // Both sides write to the beginning of a cache line, as the library does. So memcpy has the same alignment in both.
    std::vector<char> data(kRow * kRows, 1);
    const std::unique_ptr<char, void (*)(void *)> place(static_cast<char *>(std::aligned_alloc(64, kRow * kBatch)),
                                                        std::free);
    char *const target = place.get();
    mdist_dataset_t *source = rows_of(data.data(), MDIST_UINT8, {kRows, kRow});
    mdist_dataset_t *out = batches(shuffle ? shuffled(source, kRows) : source, kBatch);
    std::vector<uint32_t> order(kRows);
    std::iota(order.begin(), order.end(), 0);
    uint64_t state = 1;
    for (std::size_t i = kRows; shuffle && i > 1; --i) {
        state = state * 6364136223846793005 + 1442695040888963407;
        std::swap(order[i - 1], order[(state >> 33) % i]);
    }
    const auto copy_rows = [&] {
        for (std::size_t row = 0; row < kRows; ++row)
            std::memcpy(&target[row % kBatch * kRow], &data[order[row] * kRow], kRow);
    };
    const auto copy_batches = [&] {
        for (std::size_t row = 0; row < kRows; row += kBatch) {
            std::memcpy(target, &data[row * kRow], kRow * kBatch);
            kept = static_cast<uint64_t>(target[row % kRow]);
        }
    };
    const auto bytes = static_cast<double>(data.size());
    const auto ours = [&] { run_through(out); };
    if (shuffle)
        compare("batches of 128 x 3 KiB, shuffled; memcpy", bytes, copy_rows, ours);
    else
        compare("batches of 128 x 3 KiB; memcpy", bytes, copy_batches, ours);
    mdist_dataset_destroy(out);
}

/// Shards by 2, shuffles with a buffer of 10 000, and batches by 128.
void small_elements() {
    constexpr std::size_t kNumbers = 1 << 21, kBuffer = 10000;
    std::vector<int64_t> numbers(kNumbers), buffer(kBuffer);
    std::iota(numbers.begin(), numbers.end(), 0);
    mdist_dataset_t *half =
        made_from(rows_of(numbers.data(), MDIST_INT64, {kNumbers}),
                  [](auto from, auto to, auto why) { return mdist_dataset_shard(from, 2, 0, to, nullptr, why); });
    mdist_dataset_t *out = batches(shuffled(half, kBuffer), kBatch);
    const auto by_hand = [&] {
        uint64_t state = 1, sum = 0;
        std::size_t filled = 0, next = 0;
        for (bool more = true; more;) {
            std::vector<int64_t> batch(kBatch);
            std::size_t rows = 0;
            for (; rows < kBatch; ++rows) {
                for (; filled < kBuffer && next < kNumbers; next += 2) buffer[filled++] = numbers[next];
                if (filled == 0) break;
                state ^= state << 13, state ^= state >> 7, state ^= state << 17;
                std::swap(buffer[state % filled], buffer[filled - 1]);
                batch[rows] = buffer[--filled];
            }
            more = rows != 0;
            sum += static_cast<uint64_t>(batch[0]);
        }
        kept = sum;
    };
    compare("shard + shuffle + batch of 8-byte elements", kNumbers / 2 * 8.0, by_hand, [&] { run_through(out); });
    mdist_dataset_destroy(out);
}

void compute_for(uint64_t ns) {
    const uint64_t start = monotonic_clock().now_ns();
    while (monotonic_clock().now_ns() - start < ns) continue;
}

int32_t slow_map(const mdist_tensor_t *inputs, size_t, const mdist_tensor_t *outputs, size_t, void *) {
    compute_for(200000);
    std::memcpy(outputs[0].data, inputs[0].data, sizeof(int64_t));
    return 0;
}

/// A map and a training step of the same length, so the map can overlap completely.
void hidden_map() {
    constexpr int kElements = 200;
    mdist_tensor_t scalar;
    mdist_error_t *error = nullptr;
    must(mdist_tensor_describe(nullptr, MDIST_INT64, nullptr, 0, &scalar, &error), error);
    mdist_dataset_t *numbers =
        made([](auto to, auto why) { return mdist_dataset_range(0, kElements, 1, to, nullptr, why); });
    mdist_dataset_t *mapped = made_from(numbers, [&](auto from, auto to, auto why) {
        return mdist_dataset_map(from, slow_map, nullptr, nullptr, &scalar, 1, to, nullptr, why);
    });
    mdist_dataset_t *out = made_from(
        mapped, [](auto from, auto to, auto why) { return mdist_dataset_prefetch(from, 4, to, nullptr, why); });
    const auto steps_alone = [] {
        for (int i = 0; i < kElements; ++i) compute_for(200000);
    };
    const auto with_input = [&] {
        mdist_iterator_t *iterator = nullptr;
        mdist_error_t *why = nullptr;
        must(mdist_iterator_create(out, &iterator, &why), why);
        for (mdist_value_t *value = nullptr; mdist_iterator_next(iterator, &value, 1, nullptr) == MDIST_OK;) {
            compute_for(200000);
            mdist_value_destroy(value);
        }
        mdist_iterator_destroy(iterator);
    };
    compare("steps behind a prefetched map as slow", kElements * 8.0, steps_alone, with_input, CLOCK_MONOTONIC);
    mdist_dataset_destroy(out);
}

} // namespace

int main(int count, char **arguments) {
    if (count > 1) rounds = std::max(1, std::atoi(arguments[1]));
    char folder[] = "/tmp/mdist-data-bench-XXXXXX";
    if (mkdtemp(folder) == nullptr) return 1;
    for (const std::size_t record : {128, 1 << 10, 3 << 10, 100 << 10, 128 << 10}) tfrecords(folder, record);
    rmdir(folder);
    in_memory(false);
    in_memory(true);
    small_elements();
    hidden_map();
    return 0;
}

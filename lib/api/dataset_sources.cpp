// SPDX-License-Identifier: Apache-2.0
#include <mdist/dataset_sources.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "api/dataset_call.h"
#include "data/iterator.h"
#include "data/sources.h"
#include "util/failure.h"
#include "util/text.h"

using namespace mdist;

namespace {

std::vector<std::string> copied_names(const char *const *names, std::size_t count, const char *what) {
    need_array(names, count, what);
    std::vector<std::string> copies;
    for (std::size_t i = 0; i < count; ++i) {
        if (names[i] == nullptr) throw invalid(text(what, "[", i, "] is NULL"));
        copies.emplace_back(names[i]);
    }
    return copies;
}

Reading checked_reading(RecordFormat format, const mdist_read_options_t *given) {
    constexpr uint64_t kMostBytes = uint64_t{1} << 30;
    const mdist_read_options_t options =
        read_options(given, "mdist_read_options_t", offsetof(mdist_read_options_t, parallel_files));
    need_zero(options.flags, "flags");
    if (options.compression < MDIST_COMPRESSION_NONE || options.compression > MDIST_COMPRESSION_ZLIB)
        throw invalid(text("compression is ", options.compression, "; it must be an mdist_compression_t, 0 to 2"));
    if (options.on_corrupt != MDIST_ON_CORRUPT_FAIL && options.on_corrupt != MDIST_ON_CORRUPT_SKIP)
        throw invalid(text("on_corrupt is ", options.on_corrupt, "; it must be an mdist_on_corrupt_t, 0 or 1"));
    format.compression = options.compression;
    format.max_record_bytes = options.max_record_bytes == 0 ? kMostBytes : options.max_record_bytes;
    const auto or_one = [](uint64_t length) { return length == 0 ? 1 : length; };
    return {format, options.on_corrupt == MDIST_ON_CORRUPT_SKIP, or_one(options.cycle_length),
            or_one(options.block_length), options.parallel_files};
}

mdist_status_t read_files(const char *operation, const mdist_dataset_t *files, const RecordFormat &format,
                          const mdist_read_options_t *options, mdist_dataset_t **out, mdist_error_t **error) {
    return make_dataset(operation, files, out, error, [&](Source from) {
        const Reading reading = checked_reading(format, options);
        if (reading.parallel_files != 0) watch_forks(); // its iterators have threads
        return make_records(std::move(from), reading);
    });
}

} // namespace

mdist_status_t mdist_dataset_range(int64_t start, int64_t stop, int64_t step, mdist_dataset_t **out,
                                   const mdist_dataset_options_t *options, mdist_error_t **error) {
    return guard("mdist_dataset_range", error, [&] {
        read_dataset_options(options);
        need(out, "out");
        *out = publish<mdist_dataset_t>(make_range(start, stop, step));
    });
}

mdist_status_t mdist_dataset_from_generator(mdist_generate_fn generate, void *user_data, mdist_free_fn free_user_data,
                                            mdist_free_fn free_state, const mdist_tensor_t *outputs,
                                            size_t output_count, mdist_dataset_t **out,
                                            const mdist_dataset_options_t *options, mdist_error_t **error) {
    Kept kept(user_data, free_user_data);
    return guard("mdist_dataset_from_generator", error, [&] {
        const auto known = read_dataset_options(options, {MDIST_DATASET_ANY_THREAD, "MDIST_DATASET_ANY_THREAD"});
        need(out, "out");
        const Generator generator{generate, user_data, free_state, known.flags != 0};
        *out = publish<mdist_dataset_t>(make_from_generator(generator, kept.share(), outputs, output_count));
    });
}

mdist_status_t mdist_dataset_files(const char *const *paths, size_t count, mdist_dataset_t **out,
                                   const mdist_dataset_options_t *options, mdist_error_t **error) {
    return guard("mdist_dataset_files", error, [&] {
        read_dataset_options(options);
        need(out, "out");
        *out = publish<mdist_dataset_t>(make_files(copied_names(paths, count, "paths")));
    });
}

mdist_status_t mdist_dataset_match_files(const char *const *patterns, size_t count, mdist_dataset_t **out,
                                         const mdist_dataset_options_t *options, mdist_error_t **error) {
    return guard("mdist_dataset_match_files", error, [&] {
        read_dataset_options(options);
        need(out, "out");
        *out = publish<mdist_dataset_t>(make_files(match_files(copied_names(patterns, count, "patterns"))));
    });
}

mdist_status_t mdist_dataset_text_lines(const mdist_dataset_t *files, mdist_dataset_t **out,
                                        const mdist_read_options_t *options, mdist_error_t **error) {
    return read_files("mdist_dataset_text_lines", files, {RecordFormat::Kind::kLines}, options, out, error);
}

mdist_status_t mdist_dataset_fixed_records(const mdist_dataset_t *files, uint64_t record_bytes, uint64_t header_bytes,
                                           uint64_t footer_bytes, mdist_dataset_t **out,
                                           const mdist_read_options_t *options, mdist_error_t **error) {
    return read_files("mdist_dataset_fixed_records", files,
                      {RecordFormat::Kind::kFixed, record_bytes, header_bytes, footer_bytes}, options, out, error);
}

mdist_status_t mdist_dataset_tfrecords(const mdist_dataset_t *files, mdist_dataset_t **out,
                                       const mdist_read_options_t *options, mdist_error_t **error) {
    return read_files("mdist_dataset_tfrecords", files, {RecordFormat::Kind::kTFRecord}, options, out, error);
}

mdist_status_t mdist_iterator_skipped(const mdist_iterator_t *iterator, uint64_t *out, mdist_error_t **error) {
    return guard("mdist_iterator_skipped", error, [&] {
        const auto pinned = pin(iterator);
        need(out, "out");
        *out = pinned->skipped();
    });
}

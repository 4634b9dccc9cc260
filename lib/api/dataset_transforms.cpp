// SPDX-License-Identifier: Apache-2.0
#include <mdist/dataset_transforms.h>

#include <utility>
#include <vector>

#include "api/dataset_call.h"
#include "util/failure.h"
#include "util/text.h"

using namespace mdist;

mdist_status_t mdist_dataset_filter(const mdist_dataset_t *source, mdist_filter_fn filter, void *user_data,
                                    mdist_free_fn free_user_data, mdist_dataset_t **out,
                                    const mdist_dataset_options_t *options, mdist_error_t **error) {
    Kept kept(user_data, free_user_data);
    return make_dataset("mdist_dataset_filter", source, out, error, [&](Source from) {
        read_dataset_options(options);
        return make_filter(std::move(from), filter, user_data, kept.share());
    });
}

mdist_status_t mdist_dataset_take(const mdist_dataset_t *source, uint64_t count, mdist_dataset_t **out,
                                  const mdist_dataset_options_t *options, mdist_error_t **error) {
    return make_dataset("mdist_dataset_take", source, out, error, [&](Source from) {
        read_dataset_options(options);
        check_number(count, "count");
        return make_take(std::move(from), count);
    });
}

mdist_status_t mdist_dataset_skip(const mdist_dataset_t *source, uint64_t count, mdist_dataset_t **out,
                                  const mdist_dataset_options_t *options, mdist_error_t **error) {
    return make_dataset("mdist_dataset_skip", source, out, error, [&](Source from) {
        read_dataset_options(options);
        check_number(count, "count");
        return make_skip(std::move(from), count);
    });
}

mdist_status_t mdist_dataset_concatenate(const mdist_dataset_t *first, const mdist_dataset_t *second,
                                         mdist_dataset_t **out, const mdist_dataset_options_t *options,
                                         mdist_error_t **error) {
    return make_dataset("mdist_dataset_concatenate", first, out, error, [&](const Source &from) {
        read_dataset_options(options);
        return make_concatenate(from, pin(second).shared());
    });
}

mdist_status_t mdist_dataset_zip(const mdist_dataset_t *const *sources, size_t source_count, mdist_dataset_t **out,
                                 const mdist_dataset_options_t *options, mdist_error_t **error) {
    return guard("mdist_dataset_zip", error, [&] {
        read_dataset_options(options);
        need_array(sources, source_count, "sources");
        check_component_count(source_count, "sources");
        need(out, "out");
        std::vector<Source> all;
        for (std::size_t i = 0; i < source_count; ++i) all.push_back(pin(sources[i]).shared());
        *out = publish<mdist_dataset_t>(make_zip(all));
    });
}

mdist_status_t mdist_dataset_cache(const mdist_dataset_t *source, mdist_dataset_t **out,
                                   const mdist_dataset_options_t *options, mdist_error_t **error) {
    return make_dataset("mdist_dataset_cache", source, out, error, [&](const Source &from) {
        read_dataset_options(options);
        return make_cache(from);
    });
}

mdist_status_t mdist_dataset_padded_batch(const mdist_dataset_t *source, uint64_t batch_size,
                                          const mdist_tensor_t *paddings, size_t padding_count, mdist_dataset_t **out,
                                          const mdist_dataset_options_t *options, mdist_error_t **error) {
    return make_dataset("mdist_dataset_padded_batch", source, out, error, [&](const Source &from) {
        const auto known =
            read_dataset_options(options, {MDIST_DATASET_DROP_REMAINDER, "MDIST_DATASET_DROP_REMAINDER"});
        check_number(batch_size, "batch_size");
        return make_padded_batch(from, batch_size, known.flags != 0, paddings, padding_count);
    });
}

mdist_status_t mdist_dataset_unbatch(const mdist_dataset_t *source, mdist_dataset_t **out,
                                     const mdist_dataset_options_t *options, mdist_error_t **error) {
    return make_dataset("mdist_dataset_unbatch", source, out, error, [&](const Source &from) {
        read_dataset_options(options);
        return make_unbatch(from);
    });
}

mdist_status_t mdist_dataset_rebatch(const mdist_dataset_t *source, const uint64_t *batch_sizes, size_t size_count,
                                     mdist_dataset_t **out, const mdist_dataset_options_t *options,
                                     mdist_error_t **error) {
    return make_dataset("mdist_dataset_rebatch", source, out, error, [&](const Source &from) {
        const auto known =
            read_dataset_options(options, {MDIST_DATASET_DROP_REMAINDER, "MDIST_DATASET_DROP_REMAINDER"});
        need_array(batch_sizes, size_count, "batch_sizes");
        constexpr std::size_t kMost = 1 << 20;
        if (size_count > kMost)
            throw invalid(text("there are ", size_count, " batch sizes; at most ", kMost, " are allowed"));
        return make_rebatch(from, {batch_sizes, batch_sizes + size_count}, known.flags != 0);
    });
}

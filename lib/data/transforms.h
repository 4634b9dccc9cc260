// SPDX-License-Identifier: Apache-2.0
// Transforms: functions that make a dataset from others. <mdist/dataset.h> describes them. Each function checks its
// arguments (INVALID_ARGUMENT), refuses a distributed source (FAILED_PRECONDITION) and may be called from any thread.
#pragma once

#include "data/dataset.h"

#include <mdist/dataset_transforms.h>

namespace mdist {

using Source = std::shared_ptr<const Dataset>;

/// If `shards` is MDIST_ONE_PER_WORKER, the result cannot be iterated. It marks where each worker's own shard is to be
/// put (distribute/auto_shard.h).
std::shared_ptr<Dataset> make_shard(Source source, uint64_t shards, uint64_t index);
/// Keeps, of each `of` elements in a row, those numbered `own`. The numbers ascend.
std::shared_ptr<Dataset> make_selection(Source source, uint64_t of, std::vector<uint64_t> own);

/// The order depends on the seed alone. With `reshuffle` it also depends on the epoch within the iterator (of a
/// repeat), and on how many iterators were made before this one on the result or on datasets made from it.
std::shared_ptr<Dataset> make_shuffle(Source source, uint64_t buffer_size, uint64_t seed, bool reshuffle);

/// A source that turns out to be empty ends the repetition, whatever `count` is.
std::shared_ptr<Dataset> make_repeat(Source source, uint64_t count);

/// `map` gets `user_data`, which stays valid as long as `owner` is held. The result and all that is made from it hold
/// it. If `owner` is null, `user_data` must stay valid as long as they live. With `parallel_calls`, so many threads
/// call it, and elements come as the source's, or else in the order in which the calls end.
std::shared_ptr<Dataset> make_map(Source source, mdist_map_fn map, void *user_data, std::shared_ptr<void> owner,
                                  const mdist_tensor_t *outputs, std::size_t output_count, uint32_t parallel_calls = 0,
                                  bool ordered = true);

std::shared_ptr<Dataset> make_batch(Source source, uint64_t batch_size, bool drop_remainder);

std::shared_ptr<Dataset> make_prefetch(Source source, uint64_t elements);

/// `user_data` and `owner` are as for make_map.
std::shared_ptr<Dataset> make_filter(Source source, mdist_filter_fn filter, void *user_data,
                                     std::shared_ptr<void> owner);
std::shared_ptr<Dataset> make_take(Source source, uint64_t count);
std::shared_ptr<Dataset> make_skip(Source source, uint64_t count);
/// Throws MISMATCH.
std::shared_ptr<Dataset> make_concatenate(const Source &first, const Source &second);
std::shared_ptr<Dataset> make_zip(const std::vector<Source> &sources);
std::shared_ptr<Dataset> make_cache(const Source &source);
std::shared_ptr<Dataset> make_padded_batch(const Source &source, uint64_t batch_size, bool drop_remainder,
                                           const mdist_tensor_t *paddings, std::size_t padding_count);
std::shared_ptr<Dataset> make_unbatch(const Source &source);
std::shared_ptr<Dataset> make_rebatch(const Source &source, std::vector<uint64_t> batch_sizes, bool drop_remainder);

/// `paths` has one path for each component; together they form a tree.
std::shared_ptr<Dataset> make_named(Source source, std::vector<std::string> paths);

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
// Datasets from datasets, as <mdist/dataset.h> describes them. Each function checks its arguments (INVALID_ARGUMENT),
// refuses a distributed source (FAILED_PRECONDITION) and may be called from any thread.
#pragma once

#include "data/dataset.h"

#include <mdist/dataset.h>

namespace mdist {

using Source = std::shared_ptr<const Dataset>;

std::shared_ptr<Dataset> make_shard(Source source, uint64_t shards, uint64_t index);

/// The order is a function of the seed alone or, with `reshuffle`, of the seed, of how many iterators were made before
/// this one on the result or on datasets made from it, and of the epoch within the iterator (of a repeat).
std::shared_ptr<Dataset> make_shuffle(Source source, uint64_t buffer_size, uint64_t seed, bool reshuffle);

/// A source that turns out empty ends the repetition, however often it was asked for.
std::shared_ptr<Dataset> make_repeat(Source source, uint64_t count);

/// `map` gets `user_data`, which stays valid as long as `owner` is held, by the result and by what is made from it;
/// null: as long as they live.
std::shared_ptr<Dataset> make_map(Source source, mdist_map_fn map, void *user_data, std::shared_ptr<void> owner,
                                  const mdist_tensor_t *outputs, std::size_t output_count);

std::shared_ptr<Dataset> make_batch(Source source, uint64_t batch_size, bool drop_remainder);

std::shared_ptr<Dataset> make_prefetch(Source source, uint64_t elements);
/// Waits for threads that prefetched for streams which are gone; false if some are left after `timeout_ns`.
bool wait_for_stragglers(uint64_t timeout_ns);

/// `paths` make a tree, one for each component.
std::shared_ptr<Dataset> make_named(Source source, std::vector<std::string> paths);

/// The part of worker `worker` of `workers` with `replicas` replicas each. Every element (a batch) of n rows is cut
/// into N = workers * replicas slices of ceil(n / N) rows, later ones shorter or empty; slice j belongs to worker j mod
/// workers, whose replicas get theirs in turn. `by_replica`: slice j belongs to the replica with id j instead, so that
/// each sees the same rows in every layout.
std::shared_ptr<Dataset> make_split(Source source, uint64_t workers, uint64_t worker, uint64_t replicas,
                                    bool by_replica = false);

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
// Collectives among workers, each as one joint operation: calls[i] is that of local replica i. What they do to the
// replicas' buffers is what the functions of the same names in <mdist/collective.h> say.
#pragma once

#include "comm/workers.h"

namespace mdist::joint {

/// Small ones travel with the headers, and blocks of workers evaluate the tree together, twice as many each time; large
/// ones are cut up, so that each worker evaluates its share.
void all_reduce(Workers &workers, const Call *const *calls, uint64_t timeout_ns);
void broadcast(Workers &workers, const Call *const *calls, uint64_t timeout_ns);
void all_gather(Workers &workers, const Call *const *calls, uint64_t timeout_ns);
void reduce_scatter(Workers &workers, const Call *const *calls, uint64_t timeout_ns);
/// gather_to_root, scatter.
void exchange_with_root(Workers &workers, const Call *const *calls, uint64_t timeout_ns);
void all_to_all(Workers &workers, const Call *const *calls, uint64_t timeout_ns);
void meet(Workers &workers, const Call &call, uint64_t timeout_ns);

Workers::Blobs gather_blobs(Workers &workers, const Call &call, const void *data, std::size_t bytes,
                            uint64_t timeout_ns);
Workers::Blobs exchange_blobs(Workers &workers, const Call &call, const std::vector<std::string> &blobs,
                              uint64_t timeout_ns);
void broadcast_blob(Workers &workers, const Call &call, void *data, std::size_t bytes, uint64_t timeout_ns);

} // namespace mdist::joint

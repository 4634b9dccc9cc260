// SPDX-License-Identifier: Apache-2.0
#include <mdist/dataset.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "api/dataset_call.h"
#include "api/values.h"
#include "data/crew.h"
#include "data/iterator.h"
#include "data/sources.h"
#include "data/transforms.h"
#include "strategy/context.h"
#include "strategy/strategy.h"
#include "strategy/values/value.h"
#include "util/failure.h"
#include "util/text.h"

using namespace mdist;

namespace {

/// Tensors of an element, grouped into one value for each component.
std::vector<std::shared_ptr<Value>> values_from(const Dataset &dataset, const Element &element) {
    std::vector<std::shared_ptr<Value>> values;
    const std::size_t replicas = dataset.replica_count();
    for (std::size_t component = 0; component < dataset.component_count(); ++component) {
        if (replicas == 0) {
            values.push_back(Value::plain(element.tensor(component)));
            continue;
        }
        std::vector<Tensor> parts;
        for (std::size_t i = 0; i < replicas; ++i) parts.push_back(element.tensor(component * replicas + i));
        values.push_back(Value::per_replica(std::move(parts)));
    }
    return values;
}

} // namespace

mdist_status_t mdist_dataset_from_tensors(const mdist_tensor_t *arrays, size_t component_count, void *user_data,
                                          mdist_free_fn free_user_data, mdist_dataset_t **out, mdist_error_t **error) {
    Kept kept(user_data, free_user_data);
    return guard("mdist_dataset_from_tensors", error, [&] {
        need(out, "out");
        *out = publish<mdist_dataset_t>(make_from_tensors(arrays, component_count, kept.share()));
    });
}

mdist_status_t mdist_dataset_shard(const mdist_dataset_t *source, uint64_t shards, uint64_t index,
                                   mdist_dataset_t **out, mdist_error_t **error) {
    return make_dataset("mdist_dataset_shard", source, out, error,
                        [&](Source from) { return make_shard(std::move(from), shards, index); });
}

mdist_status_t mdist_dataset_shuffle(const mdist_dataset_t *source, uint64_t buffer_size, uint64_t seed,
                                     int32_t reshuffle_each_iteration, mdist_dataset_t **out, mdist_error_t **error) {
    return make_dataset("mdist_dataset_shuffle", source, out, error, [&](Source from) {
        return make_shuffle(std::move(from), buffer_size, seed, reshuffle_each_iteration != 0);
    });
}

mdist_status_t mdist_dataset_repeat(const mdist_dataset_t *source, uint64_t count, mdist_dataset_t **out,
                                    mdist_error_t **error) {
    return make_dataset("mdist_dataset_repeat", source, out, error,
                        [&](Source from) { return make_repeat(std::move(from), count); });
}

mdist_status_t mdist_dataset_map(const mdist_dataset_t *source, mdist_map_fn map, void *user_data,
                                 mdist_free_fn free_user_data, const mdist_tensor_t *outputs, size_t output_count,
                                 mdist_dataset_t **out, mdist_error_t **error) {
    Kept kept(user_data, free_user_data);
    return make_dataset("mdist_dataset_map", source, out, error, [&](Source from) {
        return make_map(std::move(from), map, user_data, kept.share(), outputs, output_count);
    });
}

mdist_status_t mdist_dataset_batch(const mdist_dataset_t *source, uint64_t batch_size, int32_t drop_remainder,
                                   mdist_dataset_t **out, mdist_error_t **error) {
    return make_dataset("mdist_dataset_batch", source, out, error,
                        [&](Source from) { return make_batch(std::move(from), batch_size, drop_remainder != 0); });
}

mdist_status_t mdist_dataset_prefetch(const mdist_dataset_t *source, uint64_t elements, mdist_dataset_t **out,
                                      mdist_error_t **error) {
    return make_dataset("mdist_dataset_prefetch", source, out, error, [&](Source from) {
        watch_forks(); // its iterators have threads
        return make_prefetch(std::move(from), elements);
    });
}

mdist_status_t mdist_distribute_dataset(mdist_strategy_t *strategy, const mdist_dataset_t *source,
                                        mdist_dataset_t **out, const mdist_input_options_t *options,
                                        mdist_error_t **error) {
    return guard("mdist_distribute_dataset", error, [&] {
        const auto pinned = pin(strategy);
        const auto from = pin(source);
        need(out, "out");
        need_zero(read_options(options, "mdist_input_options_t").flags, "flags");
        *out = publish<mdist_dataset_t>(make_split(from.shared(), pinned->worker_count(), pinned->worker(),
                                                   pinned->local_replica_count(), pinned->deals_by_replica()));
    });
}

size_t mdist_dataset_component_count(const mdist_dataset_t *dataset) {
    const auto pinned = try_pin(dataset);
    return pinned ? pinned->component_count() : 0;
}

void mdist_dataset_destroy(mdist_dataset_t *dataset) {
    give_up(dataset);
}

mdist_status_t mdist_iterator_create(const mdist_dataset_t *dataset, mdist_iterator_t **out, mdist_error_t **error) {
    return guard("mdist_iterator_create", error, [&] {
        const auto pinned = pin(dataset);
        need(out, "out");
        *out = publish<mdist_iterator_t>(std::make_shared<Iterator>(pinned.shared()));
    });
}

mdist_status_t mdist_iterator_next(mdist_iterator_t *iterator, mdist_value_t **out, size_t count,
                                   mdist_error_t **error) {
    return guard("mdist_iterator_next", error, [&] {
        if (Context::in_step())
            throw Failure(MDIST_ERR_WRONG_CONTEXT,
                          "mdist_iterator_next was called inside a step; take elements before mdist_run and pass them "
                          "as its arguments, which the step reads by mdist_replica_argument");
        const auto pinned = pin(iterator);
        need(out, "out");
        const std::size_t components = pinned->dataset().component_count();
        if (count != components)
            throw invalid(text("count is ", count, "; elements of this dataset have ", components, " components"));
        const bool there = pinned->next([&](const Element &element) {
            const std::vector<mdist_value_t *> handles = publish_values(values_from(pinned->dataset(), element));
            std::copy(handles.begin(), handles.end(), out);
        });
        return there ? MDIST_OK : MDIST_END;
    });
}

mdist_status_t mdist_iterator_close(mdist_iterator_t *iterator, mdist_error_t **error) {
    return guard("mdist_iterator_close", error, [&] { pin(iterator)->close(); });
}

void mdist_iterator_destroy(mdist_iterator_t *iterator) {
    give_up(iterator);
}

mdist_status_t mdist_iterators_settle(uint64_t timeout_ns, int32_t *done, mdist_error_t **error) {
    return guard("mdist_iterators_settle", error, [&] {
        need(done, "done");
        *done = wait_for_stragglers(timeout_ns) ? 1 : 0;
    });
}

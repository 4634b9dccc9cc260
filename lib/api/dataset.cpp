// SPDX-License-Identifier: Apache-2.0
#include <mdist/dataset.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "api/dataset_call.h"
#include "api/values.h"
#include "data/iterator.h"
#include "data/sources.h"
#include "data/stream_threads.h"
#include "data/transforms.h"
#include "strategy/job/context.h"
#include "strategy/strategy.h"
#include "strategy/values/element.h"
#include "strategy/values/structure.h"
#include "util/failure.h"
#include "util/text.h"

using namespace mdist;

namespace {

/// Throws WRONG_CONTEXT in a step.
void require_outside(const char *function) {
    if (Context::in_step())
        throw Failure(MDIST_ERR_WRONG_CONTEXT,
                      text(function,
                           " was called inside a step. Get elements before mdist_run and pass them as its "
                           "arguments; the step reads them by mdist_replica_argument"));
}

/// Describes what is known of a component before there are elements.
void describe_component(const Dataset &dataset, size_t index, mdist_tensor_t *out, const char **path, int32_t *kind) {
    need(out, "out");
    if (index >= dataset.component_count())
        throw invalid(
            text("component is ", index, "; elements of this dataset have ", dataset.component_count(), " components"));
    const Spec &spec = dataset.spec()[index];
    mdist_tensor_t known = {};
    known.dtype = spec.dtype;
    known.rank = spec.shape.rank;
    std::copy_n(spec.shape.dims, spec.shape.rank, known.shape);
    *out = known;
    if (path != nullptr) *path = dataset.paths()[index].c_str();
    if (kind != nullptr) *kind = dataset.replica_count() == 0 ? MDIST_VALUE_PLAIN : MDIST_VALUE_PER_REPLICA;
}

} // namespace

mdist_status_t mdist_dataset_from_tensors(const mdist_tensor_t *arrays, size_t component_count, void *user_data,
                                          mdist_free_fn free_user_data, mdist_dataset_t **out,
                                          const mdist_dataset_options_t *options, mdist_error_t **error) {
    Kept kept(user_data, free_user_data);
    return guard("mdist_dataset_from_tensors", error, [&] {
        read_dataset_options(options);
        need(out, "out");
        *out = publish<mdist_dataset_t>(make_from_tensors(arrays, component_count, kept.share()));
    });
}

mdist_status_t mdist_dataset_shard(const mdist_dataset_t *source, uint64_t shards, uint64_t index,
                                   mdist_dataset_t **out, const mdist_dataset_options_t *options,
                                   mdist_error_t **error) {
    return make_dataset("mdist_dataset_shard", source, out, error, [&](Source from) {
        read_dataset_options(options);
        check_number(shards, "shards", {MDIST_ONE_PER_WORKER, "MDIST_ONE_PER_WORKER"});
        return make_shard(std::move(from), shards, index);
    });
}

mdist_status_t mdist_dataset_shuffle(const mdist_dataset_t *source, uint64_t buffer_size, uint64_t seed,
                                     mdist_dataset_t **out, const mdist_dataset_options_t *options,
                                     mdist_error_t **error) {
    return make_dataset("mdist_dataset_shuffle", source, out, error, [&](Source from) {
        const auto known = read_dataset_options(options, {MDIST_DATASET_SAME_ORDER, "MDIST_DATASET_SAME_ORDER"});
        check_number(buffer_size, "buffer_size");
        return make_shuffle(std::move(from), buffer_size, seed, known.flags == 0);
    });
}

mdist_status_t mdist_dataset_repeat(const mdist_dataset_t *source, uint64_t count, mdist_dataset_t **out,
                                    const mdist_dataset_options_t *options, mdist_error_t **error) {
    return make_dataset("mdist_dataset_repeat", source, out, error, [&](Source from) {
        read_dataset_options(options);
        check_number(count, "count");
        return make_repeat(std::move(from), count);
    });
}

mdist_status_t mdist_dataset_map(const mdist_dataset_t *source, mdist_map_fn map, void *user_data,
                                 mdist_free_fn free_user_data, const mdist_tensor_t *outputs, size_t output_count,
                                 mdist_dataset_t **out, const mdist_dataset_options_t *options, mdist_error_t **error) {
    Kept kept(user_data, free_user_data);
    return make_dataset("mdist_dataset_map", source, out, error, [&](Source from) {
        const auto known = read_dataset_options(options, {MDIST_DATASET_UNORDERED, "MDIST_DATASET_UNORDERED"}, true);
        if (known.parallel_calls != 0) watch_forks(); // its iterators have threads
        return make_map(std::move(from), map, user_data, kept.share(), outputs, output_count, known.parallel_calls,
                        known.flags == 0);
    });
}

mdist_status_t mdist_dataset_batch(const mdist_dataset_t *source, uint64_t batch_size, mdist_dataset_t **out,
                                   const mdist_dataset_options_t *options, mdist_error_t **error) {
    return make_dataset("mdist_dataset_batch", source, out, error, [&](Source from) {
        const auto known =
            read_dataset_options(options, {MDIST_DATASET_DROP_REMAINDER, "MDIST_DATASET_DROP_REMAINDER"});
        check_number(batch_size, "batch_size");
        return make_batch(std::move(from), batch_size, known.flags != 0);
    });
}

mdist_status_t mdist_dataset_prefetch(const mdist_dataset_t *source, uint64_t elements, mdist_dataset_t **out,
                                      const mdist_dataset_options_t *options, mdist_error_t **error) {
    return make_dataset("mdist_dataset_prefetch", source, out, error, [&](Source from) {
        read_dataset_options(options);
        check_number(elements, "elements");
        watch_forks(); // its iterators have threads
        return make_prefetch(std::move(from), elements);
    });
}

mdist_status_t mdist_dataset_with_paths(const mdist_dataset_t *source, const char *const *paths, size_t count,
                                        mdist_dataset_t **out, const mdist_dataset_options_t *options,
                                        mdist_error_t **error) {
    return make_dataset("mdist_dataset_with_paths", source, out, error, [&](Source from) {
        read_dataset_options(options);
        need_array(paths, count, "paths");
        std::vector<std::string> names;
        for (size_t i = 0; i < count; ++i) {
            if (paths[i] == nullptr || *paths[i] == '\0') throw invalid(text("path ", i, " of ", count, " is empty"));
            need_text(paths[i], "path");
            names.emplace_back(paths[i]);
        }
        check_tree(names);
        return make_named(std::move(from), std::move(names));
    });
}

size_t mdist_dataset_component_count(const mdist_dataset_t *dataset) {
    const auto pinned = try_pin(dataset);
    return pinned ? pinned->component_count() : 0;
}

mdist_status_t mdist_dataset_component(const mdist_dataset_t *dataset, size_t component, mdist_tensor_t *out,
                                       const char **path, int32_t *kind, mdist_error_t **error) {
    return guard("mdist_dataset_component", error,
                 [&] { describe_component(*pin(dataset), component, out, path, kind); });
}

void mdist_dataset_destroy(mdist_dataset_t *dataset) {
    give_up(dataset);
}

mdist_status_t mdist_iterator_create(const mdist_dataset_t *dataset, mdist_iterator_t **out, mdist_error_t **error) {
    return guard("mdist_iterator_create", error, [&] {
        const auto pinned = pin(dataset);
        need(out, "out");
        const auto made = std::make_shared<Iterator>(pinned.shared());
        pinned->note_iterator(made);
        *out = publish<mdist_iterator_t>(made);
    });
}

mdist_status_t mdist_iterator_next(mdist_iterator_t *iterator, mdist_value_t **out, size_t count,
                                   mdist_error_t **error) {
    return guard("mdist_iterator_next", error, [&] {
        require_outside("mdist_iterator_next");
        const auto pinned = pin(iterator);
        need(out, "out");
        const std::size_t components = pinned->dataset().component_count();
        if (count != components)
            throw invalid(text("count is ", count, "; elements of this dataset have ", components, " components"));
        const bool there = pinned->next(
            [&](const Element &element) { publish_all(values_of_element(pinned->dataset(), element), out); });
        return there ? MDIST_OK : MDIST_END;
    });
}

mdist_status_t mdist_iterator_next_value(mdist_iterator_t *iterator, mdist_value_t **out, mdist_error_t **error) {
    return guard("mdist_iterator_next_value", error, [&] {
        require_outside("mdist_iterator_next_value");
        const auto pinned = pin(iterator);
        need(out, "out");
        const bool there = pinned->next([&](const Element &element) {
            *out = publish<mdist_value_t>(value_of_element(pinned->dataset(), element));
        });
        return there ? MDIST_OK : MDIST_END;
    });
}

size_t mdist_iterator_component_count(const mdist_iterator_t *iterator) {
    const auto pinned = try_pin(iterator);
    return pinned ? pinned->dataset().component_count() : 0;
}

mdist_status_t mdist_iterator_component(const mdist_iterator_t *iterator, size_t component, mdist_tensor_t *out,
                                        const char **path, int32_t *kind, mdist_error_t **error) {
    return guard("mdist_iterator_component", error,
                 [&] { describe_component(pin(iterator)->dataset(), component, out, path, kind); });
}

mdist_status_t mdist_iterator_close(mdist_iterator_t *iterator, mdist_error_t **error) {
    return guard("mdist_iterator_close", error, [&] { pin(iterator)->close(); });
}

void mdist_iterator_destroy(mdist_iterator_t *iterator) {
    give_up(iterator);
}

mdist_status_t mdist_iterators_wait(uint64_t timeout_ns, int32_t *done, mdist_error_t **error) {
    return guard("mdist_iterators_wait", error, [&] {
        need(done, "done");
        *done = wait_for_stragglers(timeout_ns) ? 1 : 0;
    });
}

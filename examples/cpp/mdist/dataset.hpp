// SPDX-License-Identifier: Apache-2.0
// Dataset: a description of elements; each transformation gives a new one. Iterator: the act of producing them.
//
//     auto batches = mdist::Dataset::from_tensors({images, labels}).shuffle(1000,
//     seed).batch(128).distribute(strategy); for (mdist::Values &batch : batches.iterator()) strategy.run(step, batch);
#pragma once

#include <optional>

#include "strategy.hpp"

namespace mdist {

namespace detail {

// A map function as long as the library keeps it, with a share of the place where what it throws is kept.
template <typename Map>
struct MapCall {
    Map map;
    std::shared_ptr<Thrown> thrown;

    static int32_t on_element(const mdist_tensor_t *inputs, size_t input_count, const mdist_tensor_t *outputs,
                              size_t output_count, void *user_data) {
        MapCall &self = *static_cast<MapCall *>(user_data);
        return self.thrown->guard([&] { self.map(ConstTensors(inputs, input_count), Tensors(outputs, output_count)); });
    }
};

} // namespace detail

namespace detail {

// At the end of a scope a map function must be through with what it refers to, on the prefetching thread too.
inline void end_iteration(mdist_iterator_t *iterator) noexcept {
    mdist_iterator_close(iterator, nullptr);
    mdist_iterator_destroy(iterator);
}

} // namespace detail

class Iterator : public Handle<mdist_iterator_t, detail::end_iteration> {
  public:
    // As Dataset::iterator() makes them.
    Iterator(mdist_iterator_t *handle, size_t component_count, std::shared_ptr<detail::Thrown> thrown)
        : Handle(handle), component_count_(component_count), thrown_(std::move(thrown)) {}

    // The next element: a value per component; nothing after the last.
    std::optional<Values> next() {
        std::vector<mdist_value_t *> handles(component_count_);
        Values values;
        values.reserve(component_count_);
        const mdist_status_t status = thrown_->call(mdist_iterator_next, get(), handles.data(), handles.size());
        if (status == MDIST_END) return std::nullopt;
        for (mdist_value_t *handle : handles) values.emplace_back(handle);
        return values;
    }

    // For `for`: what is left, once.
    class End {};
    class Cursor {
      public:
        explicit Cursor(Iterator &iterator) : iterator_(iterator), element_(iterator.next()) {}
        Values &operator*() noexcept { return *element_; }
        Cursor &operator++() {
            element_.reset(); // before the next one takes memory
            element_ = iterator_.next();
            return *this;
        }
        bool operator!=(End) const noexcept { return element_.has_value(); }

      private:
        Iterator &iterator_;
        std::optional<Values> element_;
    };
    Cursor begin() { return Cursor(*this); }
    End end() const noexcept { return {}; }

  private:
    size_t component_count_;
    std::shared_ptr<detail::Thrown> thrown_;
};

class Dataset : public Handle<mdist_dataset_t, mdist_dataset_destroy> {
  public:
    // Element i is row i of each array. The memory is not copied: it must stay as long as anything made from this does.
    static Dataset from_tensors(std::initializer_list<ConstTensor> arrays) {
        return from_tensors(arrays, nullptr, nullptr);
    }
    // The same, and keeps `owner` (a std::shared_ptr, say) until nothing needs the memory any more.
    template <typename Owner>
    static Dataset from_tensors(std::initializer_list<ConstTensor> arrays, Owner owner) {
        return from_tensors(arrays, new Owner(std::move(owner)), detail::drop<Owner>);
    }

    size_t component_count() const noexcept { return mdist_dataset_component_count(get()); }

    Dataset shard(uint64_t shards, uint64_t index) const { return make(mdist_dataset_shard, shards, index); }
    Dataset shuffle(uint64_t buffer_size, uint64_t seed, bool reshuffle_each_iteration = true) const {
        return make(mdist_dataset_shuffle, buffer_size, seed, int32_t{reshuffle_each_iteration});
    }
    Dataset repeat(uint64_t count = MDIST_FOREVER) const { return make(mdist_dataset_repeat, count); }
    Dataset batch(uint64_t size, bool drop_remainder = false) const {
        return make(mdist_dataset_batch, size, int32_t{drop_remainder});
    }
    Dataset prefetch(uint64_t elements) const { return make(mdist_dataset_prefetch, elements); }

    // map(ConstTensors inputs, Tensors outputs) computes each element, on the thread that asks for it or on that of a
    // prefetch that follows. outputs: what it gives, made by Tensor::of<T>(shape). It is kept as long as it is needed,
    // and not called any more when the iterators are gone.
    template <typename Map>
    Dataset map(Map map, std::initializer_list<Tensor> outputs) const {
        using MapCall = detail::MapCall<Map>;
        return make(mdist_dataset_map, MapCall::on_element, new MapCall{std::move(map), thrown_}, detail::drop<MapCall>,
                    outputs.begin(), outputs.size());
    }

    // Cuts each batch over the replicas. Comes last.
    Dataset distribute(Strategy &strategy) const {
        mdist_dataset_t *out = nullptr;
        detail::call(mdist_distribute_dataset, strategy.get(), get(), &out, nullptr);
        return Dataset(out, thrown_);
    }

    // Starts an iteration.
    Iterator iterator() const {
        mdist_iterator_t *out = nullptr;
        detail::call(mdist_iterator_create, get(), &out);
        return Iterator(out, component_count(), thrown_);
    }

  private:
    Dataset(mdist_dataset_t *handle, std::shared_ptr<detail::Thrown> thrown)
        : Handle(handle), thrown_(std::move(thrown)) {}

    static Dataset from_tensors(std::initializer_list<ConstTensor> arrays, void *owner, mdist_free_fn drop) {
        mdist_dataset_t *out = nullptr;
        detail::call(mdist_dataset_from_tensors, arrays.begin(), arrays.size(), owner, drop, &out);
        Dataset dataset(out, nullptr);
        dataset.thrown_ = std::make_shared<detail::Thrown>();
        return dataset;
    }

    template <typename Function, typename... Arguments>
    Dataset make(Function function, Arguments... arguments) const {
        mdist_dataset_t *out = nullptr;
        detail::call(function, get(), arguments..., &out);
        return Dataset(out, thrown_);
    }

    std::shared_ptr<detail::Thrown> thrown_; // by the maps of this dataset and of those it is made from
};

} // namespace mdist

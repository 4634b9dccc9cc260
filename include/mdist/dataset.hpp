// SPDX-License-Identifier: Apache-2.0
// Dataset: describes elements; each transformation makes a new dataset. Iterator: produces the elements.
//
//     auto batches = mdist::Dataset::from_tensors({images, labels})
//                        .shuffle(1000, seed).batch(128).distribute(strategy);
//     for (mdist::Values &batch : batches.iterator()) strategy.run(step, batch);
#pragma once

#include <optional>

#include <mdist/files.hpp>
#include <mdist/generator.hpp>
#include <mdist/input.hpp>
#include <mdist/strategy.hpp>

namespace mdist {

namespace detail {

// A map function, kept as long as the library needs it, with a share of the object that keeps its exceptions.
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

inline mdist_dataset_options_t dataset_options(uint32_t flags) noexcept {
    return {sizeof(mdist_dataset_options_t), flags, 0, 0};
}

// Closes the iterator first, so that at the end of a scope no map function still uses its references, not even on the
// prefetching thread.
inline void end_iteration(mdist_iterator_t *iterator) noexcept {
    mdist_iterator_close(iterator, nullptr);
    mdist_iterator_destroy(iterator);
}

} // namespace detail

class Iterator : public Handle<mdist_iterator_t, detail::end_iteration> {
  public:
    // Made by Dataset::iterator().
    Iterator(mdist_iterator_t *handle, size_t component_count, std::shared_ptr<detail::Thrown> thrown)
        : Handle(handle), component_count_(component_count), thrown_(std::move(thrown)) {}

    // Returns the next element, with one value per component; nothing after the last element.
    std::optional<Values> next() {
        std::vector<mdist_value_t *> handles(component_count_);
        Values values;
        values.reserve(component_count_);
        const mdist_status_t status = thrown_->call(mdist_iterator_next, get(), handles.data(), handles.size());
        if (status == MDIST_END) return std::nullopt;
        for (mdist_value_t *handle : handles) values.emplace_back(handle);
        return values;
    }

    // What the maps of its dataset throw. For functions that take elements inside the library.
    const std::shared_ptr<detail::Thrown> &thrown() const noexcept { return thrown_; }

    // How many rows each replica of the job, by id, got in the last element of a distributed dataset.
    std::vector<uint64_t> row_counts(const Strategy &strategy) {
        std::vector<uint64_t> rows(mdist_strategy_replica_count(strategy.get()));
        detail::call(mdist_iterator_row_counts, get(), rows.data(), rows.size());
        return rows;
    }

    // How many corrupt records its sources have left out so far.
    uint64_t skipped() const {
        uint64_t count = 0;
        detail::call(mdist_iterator_skipped, get(), &count);
        return count;
    }

    // Where the iteration is, as a text for restore() on an iterator of the same dataset.
    std::string save() {
        size_t needed = 0;
        detail::call(mdist_iterator_save, get(), nullptr, size_t{0}, &needed);
        std::string text(needed, '\0');
        detail::call(mdist_iterator_save, get(), text.data(), text.size(), &needed);
        text.pop_back(); // the NUL
        return text;
    }
    void restore(const std::string &text) { thrown_->call(mdist_iterator_restore, get(), text.c_str()); }

    // For `for`: iterates once over the remaining elements.
    class End {};
    class Cursor {
      public:
        explicit Cursor(Iterator &iterator) : iterator_(iterator), element_(iterator.next()) {}
        Values &operator*() noexcept { return *element_; }
        Cursor &operator++() {
            element_.reset(); // frees memory before the next element takes some
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
    // Element i is row i of each array. The memory is not copied. It must stay valid as long as anything made from this
    // dataset.
    static Dataset from_tensors(std::initializer_list<ConstTensor> arrays) {
        return from_tensors(arrays, nullptr, nullptr);
    }
    // The same, but keeps `owner` (for example a std::shared_ptr) until the memory is no longer needed.
    template <typename Owner>
    static Dataset from_tensors(std::initializer_list<ConstTensor> arrays, Owner owner) {
        return from_tensors(arrays, new Owner(std::move(owner)), detail::drop<Owner>);
    }

    // int64 numbers: start, start + step ... before stop.
    static Dataset range(int64_t start, int64_t stop, int64_t step = 1) {
        return source(std::make_shared<detail::Thrown>(), [&](mdist_dataset_t **out) {
            detail::call(mdist_dataset_range, start, stop, step, out, nullptr);
        });
    }

    // make() is called for each iteration and epoch. It returns bool next(Tensors outputs), which fills the tensors of
    // one element, or returns false at the end. Both run on the thread that iterates; with MDIST_DATASET_ANY_THREAD
    // also on threads of the library, so that prefetch may follow. `outputs`: as for map.
    template <typename Make>
    static Dataset from_generator(Make make, std::initializer_list<Tensor> outputs, uint32_t flags = 0) {
        using Kept = detail::GeneratorCall<Make>;
        auto thrown = std::make_shared<detail::Thrown>();
        const mdist_dataset_options_t options = detail::dataset_options(flags);
        return source(thrown, [&](mdist_dataset_t **out) {
            detail::call(mdist_dataset_from_generator, Kept::on_element, new Kept{std::move(make), thrown},
                         detail::drop<Kept>, detail::drop<typename Kept::Next>, outputs.begin(), outputs.size(), out,
                         &options);
        });
    }

    // The names of files, in this order; or of all files that match a pattern (`*`, `?` and `[a-z]`), sorted.
    static Dataset files(const std::vector<std::string> &paths) { return names(mdist_dataset_files, paths); }
    static Dataset match_files(const std::vector<std::string> &patterns) {
        return names(mdist_dataset_match_files, patterns);
    }

    // The records of the files that this dataset names: uint8 tensors.
    Dataset text_lines(const ReadOptions &options = {}) const {
        const mdist_read_options_t given = detail::raw(options);
        return derive([&](mdist_dataset_t **out) { detail::call(mdist_dataset_text_lines, get(), out, &given); });
    }
    Dataset fixed_records(uint64_t record_bytes, uint64_t header_bytes = 0, uint64_t footer_bytes = 0,
                          const ReadOptions &options = {}) const {
        const mdist_read_options_t given = detail::raw(options);
        return derive([&](mdist_dataset_t **out) {
            detail::call(mdist_dataset_fixed_records, get(), record_bytes, header_bytes, footer_bytes, out, &given);
        });
    }
    Dataset tfrecords(const ReadOptions &options = {}) const {
        const mdist_read_options_t given = detail::raw(options);
        return derive([&](mdist_dataset_t **out) { detail::call(mdist_dataset_tfrecords, get(), out, &given); });
    }

    Dataset take(uint64_t count) const { return make(mdist_dataset_take, 0, count); }
    Dataset skip(uint64_t count) const { return make(mdist_dataset_skip, 0, count); }
    Dataset cache() const { return make(mdist_dataset_cache, 0); }
    Dataset unbatch() const { return make(mdist_dataset_unbatch, 0); }
    Dataset rebatch(const std::vector<uint64_t> &sizes, bool drop_remainder = false) const {
        return make(mdist_dataset_rebatch, whole_batches(drop_remainder), sizes.data(), sizes.size());
    }
    // Pads each dimension up to the longest of the batch, with zeros. With `paddings`, one tensor for each component:
    // its shape gives the sizes (MDIST_UNKNOWN_LENGTH: the longest), and its data, if any, points to the padding value.
    Dataset padded_batch(uint64_t size, bool drop_remainder = false,
                         const std::vector<ConstTensor> &paddings = {}) const {
        return make(mdist_dataset_padded_batch, whole_batches(drop_remainder), size,
                    static_cast<const mdist_tensor_t *>(paddings.empty() ? nullptr : paddings.data()), paddings.size());
    }

    // Keeps the elements for which filter(ConstTensors) returns true.
    template <typename Filter>
    Dataset filter(Filter filter) const {
        using Kept = detail::FilterCall<Filter>;
        return make(mdist_dataset_filter, 0, Kept::on_element, new Kept{std::move(filter), thrown_},
                    detail::drop<Kept>);
    }

    // These elements, then those of another dataset.
    Dataset concatenate(const Dataset &other) const {
        return joined({this, &other}, [&](mdist_dataset_t **out) {
            detail::call(mdist_dataset_concatenate, get(), other.get(), out, nullptr);
        });
    }

    // Element i has the components of element i of each dataset. It ends with the shortest.
    static Dataset zip(std::initializer_list<const Dataset *> sources) {
        std::vector<const mdist_dataset_t *> handles;
        for (const Dataset *one : sources) handles.push_back(one->get());
        return joined(sources, [&](mdist_dataset_t **out) {
            detail::call(mdist_dataset_zip, handles.data(), handles.size(), out, nullptr);
        });
    }

    size_t component_count() const noexcept { return mdist_dataset_component_count(get()); }

    Dataset shard(uint64_t shards, uint64_t index) const { return make(mdist_dataset_shard, 0, shards, index); }
    Dataset shuffle(uint64_t buffer_size, uint64_t seed, bool reshuffle_each_iteration = true) const {
        return make(mdist_dataset_shuffle, reshuffle_each_iteration ? 0 : MDIST_DATASET_SAME_ORDER, buffer_size, seed);
    }
    Dataset repeat(uint64_t count = MDIST_FOREVER) const { return make(mdist_dataset_repeat, 0, count); }
    Dataset batch(uint64_t size, bool drop_remainder = false) const {
        return make(mdist_dataset_batch, whole_batches(drop_remainder), size);
    }
    Dataset prefetch(uint64_t elements) const { return make(mdist_dataset_prefetch, 0, elements); }

    // map(ConstTensors inputs, Tensors outputs) computes each element. It runs on the thread that asks for the element,
    // or on the thread of a later prefetch. `outputs` describes its results, with tensors made by Tensor::of<T>(shape).
    // The function is kept as long as needed, and is not called after the iterators are gone.
    template <typename Map>
    Dataset map(Map map, std::initializer_list<Tensor> outputs) const {
        using MapCall = detail::MapCall<Map>;
        mdist_dataset_t *out = nullptr;
        detail::call(mdist_dataset_map, get(), MapCall::on_element, new MapCall{std::move(map), thrown_},
                     detail::drop<MapCall>, outputs.begin(), outputs.size(), &out, nullptr);
        return Dataset(out, thrown_);
    }

    // Divides each batch over the replicas. Must be the last transformation. All workers call it together.
    Dataset distribute(Strategy &strategy, const InputOptions &options = {}) const {
        const mdist_input_options_t given = detail::raw(options);
        mdist_dataset_t *out = nullptr;
        detail::call(mdist_distribute_dataset, strategy.get(), get(), &out, &given);
        return Dataset(out, thrown_);
    }

    // Distributes the dataset that make(const InputPipeline &) returns, whose elements are batches of one replica. In
    // each step every replica of this worker in turn takes one. All workers call it together.
    template <typename Make>
    static Dataset distribute_from_function(Strategy &strategy, Make &&make, const InputOptions &options = {}) {
        const mdist_input_options_t given = detail::raw(options);
        MakeCall<std::remove_reference_t<Make>> call{make, std::make_shared<detail::Thrown>()};
        mdist_dataset_t *out = nullptr;
        call.thrown->call(mdist_distribute_from_function, strategy.get(), call.for_pipeline, &call, &out, &given);
        return Dataset(out, std::move(call.thrown));
    }

    // Says in lines for people how it is made. For a distributed dataset also which policy was taken and why, who reads
    // what, and how many rows each replica gets in a step.
    std::string explain() const {
        size_t needed = 0;
        detail::call(mdist_dataset_explain, get(), nullptr, size_t{0}, &needed);
        std::string text(needed, '\0');
        detail::call(mdist_dataset_explain, get(), text.data(), text.size(), &needed);
        text.pop_back(); // the NUL
        return text;
    }

    // Starts an iteration.
    Iterator iterator() const {
        mdist_iterator_t *out = nullptr;
        detail::call(mdist_iterator_create, get(), &out);
        return Iterator(out, component_count(), thrown_);
    }

  private:
    template <typename Make>
    struct MakeCall {
        Make &make;
        std::shared_ptr<detail::Thrown> thrown; // also of the maps in what is made

        static int32_t for_pipeline(const mdist_input_context_t *context, mdist_dataset_t **out, void *user_data) {
            MakeCall &self = *static_cast<MakeCall *>(user_data);
            return self.thrown->guard([&] {
                Dataset made = self.make(InputPipeline(*context));
                self.thrown->look_in(made.thrown_);
                *out = made.release();
            });
        }
    };

    Dataset(mdist_dataset_t *handle, std::shared_ptr<detail::Thrown> thrown)
        : Handle(handle), thrown_(std::move(thrown)) {}

    static Dataset from_tensors(std::initializer_list<ConstTensor> arrays, void *owner, mdist_free_fn drop) {
        mdist_dataset_t *out = nullptr;
        detail::call(mdist_dataset_from_tensors, arrays.begin(), arrays.size(), owner, drop, &out, nullptr);
        Dataset dataset(out, nullptr);
        dataset.thrown_ = std::make_shared<detail::Thrown>();
        return dataset;
    }

    template <typename Create>
    static Dataset source(std::shared_ptr<detail::Thrown> thrown, Create create) {
        mdist_dataset_t *out = nullptr;
        create(&out);
        return Dataset(out, std::move(thrown));
    }

    template <typename Function>
    static Dataset names(Function function, const std::vector<std::string> &strings) {
        const auto texts = detail::texts(strings);
        return source(std::make_shared<detail::Thrown>(),
                      [&](mdist_dataset_t **out) { detail::call(function, texts.data(), texts.size(), out, nullptr); });
    }

    template <typename Create>
    static Dataset joined(std::initializer_list<const Dataset *> sources, Create create) {
        auto thrown = std::make_shared<detail::Thrown>();
        for (const Dataset *one : sources) thrown->look_in(one->thrown_);
        return source(std::move(thrown), create);
    }

    template <typename Create>
    Dataset derive(Create create) const {
        return source(thrown_, create);
    }

    static uint32_t whole_batches(bool drop_remainder) { return drop_remainder ? MDIST_DATASET_DROP_REMAINDER : 0; }

    template <typename Function, typename... Arguments>
    Dataset make(Function function, uint32_t flags, Arguments... arguments) const {
        const mdist_dataset_options_t options = detail::dataset_options(flags);
        mdist_dataset_t *out = nullptr;
        detail::call(function, get(), arguments..., &out, &options);
        return Dataset(out, thrown_);
    }

    std::shared_ptr<detail::Thrown> thrown_; // from the maps of this dataset and of its sources
};

} // namespace mdist

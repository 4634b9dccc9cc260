// SPDX-License-Identifier: Apache-2.0
// Value: tensors that a run takes and returns: one, or one per local replica. A value owns its tensors and never
// changes. A structure is a value made of several values, its leaves, each at a path: "loss", "grads.0".
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <mdist/handle.hpp>
#include <mdist/tensor.hpp>

namespace mdist {

class Value : public Handle<mdist_value_t, mdist_value_destroy> {
  public:
    using Handle::Handle;

    // Makes a plain value with a copy of the tensor.
    Value(ConstTensor tensor) : Handle(create(tensor)) {}
    template <typename Data, typename = detail::EnableIfMemory<Data, const void>>
    Value(Data &&data) : Value(ConstTensor(data)) {}

    // Makes a plain value from a container, which it takes ownership of. The contents are not copied.
    template <typename Container>
    static Value wrap(Container container) {
        const size_t size = std::size(container);
        return wrap(std::move(container), {size});
    }
    template <typename Container>
    static Value wrap(Container container, Shape shape) {
        auto kept = std::make_unique<Container>(std::move(container));
        const ConstTensor tensor(*kept, shape);
        mdist_value_t *out = nullptr;
        detail::call(mdist_value_wrap, &tensor, kept.release(), detail::drop<Container>, &out);
        return Value(out);
    }

    // Makes a structure. It shares the tensors of its leaves. A leaf that is a structure adds its own leaves below its
    // path.
    explicit Value(const std::map<std::string, Value> &leaves) : Handle(create(leaves)) {}

    // Makes a value of rows of larger tensors. Tensor i of `values` holds rows; tensor i of `indices`, int64, says
    // which rows.
    static Value sparse(const Value &indices, const Value &values) {
        mdist_value_t *out = nullptr;
        detail::call(mdist_value_sparse, indices.get(), values.get(), &out);
        return Value(out);
    }

    mdist_value_kind_t kind() const noexcept { return mdist_value_kind(get()); }
    size_t count() const noexcept { return mdist_value_count(get()); }

    // Borrowed from the value.
    ConstTensor tensor(size_t index = 0) const {
        mdist_tensor_t out;
        detail::call(mdist_value_tensor, get(), index, &out);
        return ConstTensor(out);
    }

    // The indices of its rows, if it is a value of rows; borrowed from the value.
    std::optional<ConstTensor> indices(size_t index = 0) const {
        mdist_tensor_t out;
        detail::call(mdist_value_indices, get(), index, &out);
        if (out.dtype == MDIST_DTYPE_NONE) return std::nullopt;
        return ConstTensor(out);
    }

    // The paths of its leaves; only "" if it is not a structure.
    std::vector<std::string> paths() const {
        std::vector<std::string> result(mdist_value_leaf_count(get()));
        for (size_t i = 0; i < result.size(); ++i) result[i] = mdist_value_leaf_path(get(), i);
        return result;
    }
    // Returns a leaf, or the structure below the path. It shares the tensors, and may outlive this value.
    Value at(const std::string &path) const {
        mdist_value_t *out = nullptr;
        detail::call(mdist_value_at, get(), path.c_str(), &out);
        return Value(out);
    }
    std::map<std::string, Value> leaves() const {
        std::map<std::string, Value> result;
        for (const std::string &path : paths()) result.emplace(path, at(path));
        return result;
    }

  private:
    static mdist_value_t *create(const std::map<std::string, Value> &leaves) {
        std::vector<const char *> paths;
        std::vector<mdist_value_t *> handles;
        for (const auto &[path, leaf] : leaves) {
            paths.push_back(path.c_str());
            handles.push_back(leaf.get());
        }
        mdist_value_t *out = nullptr;
        detail::call(mdist_value_structure, paths.data(), handles.data(), paths.size(), &out);
        return out;
    }
    static mdist_value_t *create(const ConstTensor &tensor) {
        mdist_value_t *out = nullptr;
        detail::call(mdist_value_create, &tensor, &out);
        return out;
    }
};

// An element of a dataset, or the arguments of a run.
using Values = std::vector<Value>;

template <typename... Parts>
Values values(Parts &&...parts) {
    Values result;
    result.reserve(sizeof...(parts));
    (result.emplace_back(std::forward<Parts>(parts)), ...);
    return result;
}

// Leaves by path: leaves("loss", 0.5f, "grads.0", gradients). A Value can be made of them, and a step may return them.
using Leaves = std::map<std::string, Value>;

inline void add_leaves(Leaves &) {}
template <typename Leaf, typename... More>
void add_leaves(Leaves &result, const std::string &path, Leaf &&leaf, More &&...more) {
    result.emplace(path, std::forward<Leaf>(leaf));
    add_leaves(result, std::forward<More>(more)...);
}
template <typename... Parts>
Leaves leaves(Parts &&...parts) {
    Leaves result;
    add_leaves(result, std::forward<Parts>(parts)...);
    return result;
}

namespace detail {

// What goes into a run, and where its results go. Keeps the arguments' handles.
class RunIo {
  public:
    RunIo(const std::vector<mdist_value_t *> &arguments, mdist_value_t **results, size_t result_count,
          std::chrono::nanoseconds timeout = {})
        : arguments_(arguments) {
        io_.struct_size = sizeof io_;
        io_.arguments = arguments_.data();
        io_.argument_count = arguments_.size();
        io_.results = results;
        io_.result_count = result_count;
        io_.timeout_ns = timeout.count() < 0 ? 1 : static_cast<uint64_t>(timeout.count());
    }
    RunIo(const RunIo &) = delete;
    RunIo &operator=(const RunIo &) = delete;
    const mdist_run_io_t *get() const noexcept { return &io_; }

  private:
    std::vector<mdist_value_t *> arguments_;
    mdist_run_io_t io_{};
};

inline std::vector<mdist_value_t *> handles(const Values &values) {
    std::vector<mdist_value_t *> result;
    result.reserve(values.size());
    for (const Value &value : values) result.push_back(value.get());
    return result;
}

// Values that belong to the library, for a callback to read while it runs.
class BorrowedValues {
  public:
    BorrowedValues(mdist_value_t *const *handles, size_t count) {
        values_.reserve(count);
        for (size_t i = 0; i < count; ++i) values_.emplace_back(handles[i]);
    }
    ~BorrowedValues() {
        for (Value &value : values_) value.release();
    }
    BorrowedValues(const BorrowedValues &) = delete;
    BorrowedValues &operator=(const BorrowedValues &) = delete;

    const Values &operator*() const noexcept { return values_; }

  private:
    Values values_;
};

} // namespace detail
} // namespace mdist

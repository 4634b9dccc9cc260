// SPDX-License-Identifier: Apache-2.0
// Value: owned tensors that go into a run and come out of it; one, or one per local replica. They never change.
#pragma once

#include <vector>

#include "handle.hpp"
#include "tensor.hpp"

namespace mdist {

class Value : public Handle<mdist_value_t, mdist_value_destroy> {
  public:
    using Handle::Handle;

    // A plain value with a copy.
    Value(ConstTensor tensor) : Handle(create(tensor)) {}
    template <typename Data, typename = detail::EnableIfMemory<Data, const void>>
    Value(Data &&data) : Value(ConstTensor(data)) {}

    // A plain value around a container that it takes over and keeps; what is in it is not copied.
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

    mdist_value_kind_t kind() const noexcept { return mdist_value_kind(get()); }
    size_t count() const noexcept { return mdist_value_count(get()); }

    // Borrowed from the value.
    ConstTensor tensor(size_t index = 0) const {
        mdist_tensor_t out;
        detail::call(mdist_value_tensor, get(), index, &out);
        return ConstTensor(out);
    }

  private:
    static mdist_value_t *create(const ConstTensor &tensor) {
        mdist_value_t *out = nullptr;
        detail::call(mdist_value_create, &tensor, &out);
        return out;
    }
};

// An element of a dataset; arguments of a run.
using Values = std::vector<Value>;

template <typename... Parts>
Values values(Parts &&...parts) {
    Values result;
    result.reserve(sizeof...(parts));
    (result.emplace_back(std::forward<Parts>(parts)), ...);
    return result;
}

namespace detail {

inline std::vector<mdist_value_t *> handles(const Values &values) {
    std::vector<mdist_value_t *> result;
    result.reserve(values.size());
    for (const Value &value : values) result.push_back(value.get());
    return result;
}

// Values that are the library's, for as long as a callback may look at them.
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

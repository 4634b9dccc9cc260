// SPDX-License-Identifier: Apache-2.0
// FunctionRef: a borrowed function, for a callee to call while it runs. It does not allocate. It is valid only as long
// as the function object it was made from.
#pragma once

#include <type_traits>
#include <utility>

namespace mdist {

template <typename Signature>
class FunctionRef;

template <typename Result, typename... Arguments>
class FunctionRef<Result(Arguments...)> {
  public:
    template <typename Function, typename = std::enable_if_t<!std::is_same_v<std::decay_t<Function>, FunctionRef>>>
    FunctionRef(Function &&function)
        : object_(const_cast<void *>(static_cast<const void *>(&function))),
          call_([](void *object, Arguments... arguments) -> Result {
              return (*static_cast<std::remove_reference_t<Function> *>(object))(std::forward<Arguments>(arguments)...);
          }) {}

    Result operator()(Arguments... arguments) const { return call_(object_, std::forward<Arguments>(arguments)...); }

  private:
    void *object_;
    Result (*call_)(void *, Arguments...);
};

} // namespace mdist

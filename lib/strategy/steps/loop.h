// SPDX-License-Identifier: Apache-2.0
// Loop: a function called for each element of an iterator; what it puts out is kept by path, and aggregated at the end.
//
// One thread runs it, and has the strategy's turn only while workers speak with each other: what the function does with
// the strategy is like what any program does. Outputs, objects and replicas' parts: any thread.
#pragma once

#include "strategy/strategy.h"
#include "util/function_ref.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdist {

class Iterator;

class Loop {
  public:
    /// The user's function, as the C edge wraps it; throws or returns non-zero to fail.
    using Body = FunctionRef<int32_t(const ValuePointer &element)>;

    /// `initial` may be null. Throws INVALID_ARGUMENT unless it is a structure of plain values.
    Loop(std::shared_ptr<Strategy> strategy, uint64_t iterations, ValuePointer initial, uint64_t timeout_ns);

    /// Throws WRONG_CONTEXT or FAILED_PRECONDITION where no loop can begin.
    static void require_place(Strategy &strategy);

    /// False if the elements ran out before the last iteration. Once. Throws the first failure, which other workers do
    /// not know of yet.
    bool run(Iterator &iterator, const Body &body);

    void set(std::string_view path, ValuePointer value, int32_t aggregation);
    void set_part(Replica &replica, std::string_view path, Tensor tensor, int32_t aggregation);
    /// A structure, once the loop is over.
    ValuePointer outputs() const;

    void set_object(std::string name, uint32_t local_replica, void *object);
    void *object(const std::string &name, uint32_t local_replica) const;

    uint64_t iterations_done() const { return done_; }
    const Strategy &strategy() const { return *strategy_; }

  private:
    struct Output {
        ValuePointer value;
        int32_t aggregation;
    };
    /// What one replica has set in this iteration.
    struct Parts {
        Part tensors;
        std::map<std::string, int32_t, std::less<>> aggregations;
    };

    using Outputs = std::map<std::string, Output, std::less<>>;

    bool agree(bool have) const;
    void collect();
    int32_t aggregation_of(const std::vector<Parts> &parts, const std::string &path) const;
    ValuePointer initial_at(std::string_view path) const;
    void check_like_initial(std::string_view path, const Value &value) const;
    void check_stands_apart(std::string_view path) const;
    ValuePointer gathered(const Outputs &outputs) const;
    static const Output *output_at(const Outputs &outputs, std::string_view leaf);
    ValuePointer aggregate(const ValuePointer &value, int32_t aggregation) const;
    void agree_on(const Outputs &outputs) const;
    void finish();

    const std::shared_ptr<Strategy> strategy_;
    const uint64_t iterations_;
    const ValuePointer initial_;
    const uint64_t initial_fingerprint_;
    const uint64_t timeout_ns_;
    std::atomic<uint64_t> done_{0};
    const uint32_t replicas_; // that a value has tensors for

    mutable std::mutex mutex_; // guards what follows
    std::vector<Parts> parts_; // by local replica
    Outputs outputs_;
    std::map<std::pair<std::string, uint32_t>, void *> objects_;
    bool over_ = false;   // no more outputs
    ValuePointer result_; // nullptr until they are aggregated
};

} // namespace mdist

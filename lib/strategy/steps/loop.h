// SPDX-License-Identifier: Apache-2.0
// Loop: calls a function for each element of an iterator, collects the outputs by path, and aggregates them at the end.
//
// One thread runs the loop. It has the turn only while workers communicate, so the function may use the strategy as any
// program does. Outputs, objects and replicas' parts may be set on any thread.
#pragma once

#include "strategy/job/turn.h"
#include "strategy/steps/replica.h"
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
    /// The user's function, wrapped by the C API. Throws or returns non-zero to fail.
    using Body = FunctionRef<void(const ValuePointer &element)>;

    /// `initial` may be null. Throws INVALID_ARGUMENT unless it is a structure of plain values.
    Loop(std::shared_ptr<Job> job, uint64_t iterations, ValuePointer initial, uint64_t timeout_ns);

    /// The turn, if a loop can begin here. Throws WRONG_CONTEXT or FAILED_PRECONDITION if not.
    static Turn place(Job &job);

    /// Runs the loop, once. Returns false if the elements ran out before the last iteration. Throws the first failure,
    /// which other workers do not know of yet.
    bool run(Iterator &iterator, const Body &body);

    void set(std::string_view path, ValuePointer value, int32_t aggregation);
    void set_part(Replica &replica, std::string_view path, Tensor tensor, int32_t aggregation);
    /// Returns the outputs as a structure, after the loop.
    ValuePointer outputs() const;

    void set_object(std::string name, uint32_t local_replica, void *object);
    void *object(const std::string &name, uint32_t local_replica) const;

    uint64_t iterations_done() const { return done_; }

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

    const std::shared_ptr<Job> job_;
    const uint32_t generation_; // of the job; the loop ends with it
    const uint64_t iterations_;
    const ValuePointer initial_;
    const uint64_t initial_fingerprint_;
    const uint64_t timeout_ns_;
    std::atomic<uint64_t> done_{0};
    const uint32_t replicas_; // in a value that is not plain

    mutable std::mutex mutex_; // guards the members below
    std::vector<Parts> parts_; // by local replica
    Outputs outputs_;
    std::map<std::pair<std::string, uint32_t>, void *> objects_;
    bool over_ = false;   // no more outputs are taken
    ValuePointer result_; // nullptr until the outputs are aggregated
};

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
// Variable: one copy per local replica, and the rules by which writes and reads keep them in order.
//
//                 in a step                                   outside of steps
//   ON_WRITE      reduce by aggregation, apply to every copy   apply to every copy; read copy 0
//   ON_READ       own copy only                                divide over copies; read reduces by aggregation
//
// Rows (variable_rows.cpp): ON_WRITE only; what is reduced in a step is then all replicas' rows, one after another.
// Writes from steps come on the replicas' threads, each for its own copy; all else from whoever holds the turn.
#pragma once

#include "comm/call.h"
#include "strategy/strategy.h"

#include <mdist/variable.h>

#include <memory>
#include <string>

namespace mdist {

struct VariableSpec {
    std::string name;
    std::string colocated_with; // another variable's name, or empty
    int32_t dtype = 0;
    Shape shape;
    int32_t synchronization = MDIST_SYNC_ON_WRITE;
    int32_t aggregation = MDIST_AGGREGATION_NONE;

    /// Throws INVALID_ARGUMENT for what no variable can be; turns AUTO into ON_WRITE.
    void check();
    /// "\"bias\" float32 [10], ON_WRITE, SUM"
    std::string text() const;
    /// The same on all workers for what text() says.
    uint64_t hash() const;
};

struct Rows;

/// "ADD"
const char *assign_name(int32_t assign);
/// "SUM"
const char *aggregation_name(int32_t aggregation);

class Variable {
  public:
    /// With a copy of the chief's `initial` on every replica of the job; zeros if it is undefined there. All workers
    /// create it alike, by `kind`.
    static std::shared_ptr<Variable> create(std::shared_ptr<Strategy> strategy, VariableSpec spec,
                                            const Tensor &initial, CallKind kind, uint64_t timeout_ns);
    /// As create(), but unknown to VariableStore::find().
    Variable(std::shared_ptr<Strategy> strategy, VariableSpec spec, const Tensor &initial, CallKind kind,
             uint64_t timeout_ns);
    ~Variable();
    Variable(const Variable &) = delete;
    Variable &operator=(const Variable &) = delete;

    const VariableSpec &spec() const { return spec_; }
    const std::shared_ptr<Strategy> &strategy() const { return strategy_; }
    const Tensor &copy(uint32_t local) const { return copies_[local]; }

    /// Outside of steps; the caller holds the turn.
    void assign(int32_t assign, const Value &value);
    /// Throws what assign() would for a value of `replicas` tensors.
    void check_assignment(int32_t assign, const Value &value, uint32_t replicas) const;
    /// In update context: one copy.
    void assign_copy(uint32_t local, int32_t assign, const Value &value);
    Tensor read(uint64_t timeout_ns) const;
    /// Into all copies of all workers what the chief's first has; all workers call it, by `kind`.
    void take_copy_of_chief(CallKind kind, uint64_t timeout_ns);
    /// Other workers have one on its behalf, which the session is to hear of (Session::drop).
    void tell_when_gone() { tells_when_gone_ = true; }
    /// Throws FAILED_PRECONDITION where read() would, since nobody can say which copy to read.
    void require_readable() const;
    /// Whether reading takes all workers; else it is copy 0.
    bool reduced_when_read() const {
        return spec_.synchronization == MDIST_SYNC_ON_READ &&
               (spec_.aggregation == MDIST_AGGREGATION_SUM || spec_.aggregation == MDIST_AGGREGATION_MEAN);
    }
    /// What assign(SET) does with a plain value, for one that comes piece by piece: host bytes for all copies, and,
    /// when all are there, the rest.
    void write(std::size_t offset, const void *bytes, std::size_t count);
    void finish_writing();
    /// Whether writing it in a step takes all replicas.
    bool aggregated_in_step() const {
        return spec_.synchronization != MDIST_SYNC_ON_READ && spec_.aggregation != MDIST_AGGREGATION_NONE;
    }
    /// In a step.
    void assign_in_step(Replica &replica, int32_t assign, const Tensor &tensor, uint64_t timeout_ns);
    void assign_rows_in_step(Replica &replica, int32_t assign, const Rows &rows, uint64_t timeout_ns);

  private:
    /// What an assignment in a step is called, and what all replicas must mean by it.
    struct Meaning {
        std::string text;
        uint64_t hash;
    };
    void check_write(int32_t assign, const Tensor &tensor, const char *what) const;
    void check_rows_assign(int32_t assign) const;
    /// `device`: what it was given comes before the rows.
    void check_rows(const Device &device, int32_t assign, const Rows &rows) const;
    void check_owner(const Replica &replica) const;
    /// Throws unless a caller's memory is apart from all copies or, if `or_same`, is a copy itself.
    void check_apart(const Tensor &tensor, const char *what, bool or_same) const;
    void apply(uint32_t local, int32_t assign, const Tensor &tensor) const;
    void apply_value(uint32_t local, int32_t assign, const Value &value) const;
    void apply_rows(uint32_t local, int32_t assign, const Rows &rows) const;
    /// Whether what is written outside of steps is divided among the copies, so that their sum is it.
    bool divided() const {
        return spec_.synchronization == MDIST_SYNC_ON_READ && spec_.aggregation == MDIST_AGGREGATION_SUM;
    }
    void divide() const;
    void give_memory_back() noexcept;

    std::shared_ptr<Strategy> strategy_;
    std::shared_ptr<VariableStore> store_;
    VariableSpec spec_;
    std::size_t offset_ = 0;
    std::vector<Tensor> copies_;
    std::vector<Meaning> meanings_; // of SET, ADD, SUB: made once, since a step is to cost little more than its bytes
    bool tells_when_gone_ = false;
};

/// Creates one variable from inside a step, by all local replicas together: replica 0's `initial` counts.
std::shared_ptr<Variable> create_together(Replica &replica, VariableSpec spec, const Tensor &initial,
                                          uint64_t timeout_ns);

} // namespace mdist

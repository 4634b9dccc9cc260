// SPDX-License-Identifier: Apache-2.0
// Variable: a tensor with one copy per local replica, and the rules by which writes and reads keep the copies
// consistent.
//
//                 in a step                                   outside of steps
//   ON_WRITE      reduce by aggregation, apply to every copy   apply to every copy; read copy 0
//   ON_READ       own copy only                                divide over copies; read reduces by aggregation
//
// Rows (rows.cpp) work with ON_WRITE only; in a step they are not added up, but gathered from all replicas one after
// another. In a step, each replica's thread writes its own copy. Everything else is done by the thread that holds the
// turn.
#pragma once

#include "comm/call/call.h"
#include "strategy/job/party.h"
#include "strategy/values/value.h"
#include "strategy/variables/store.h"

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

    /// Throws INVALID_ARGUMENT for an invalid specification. Turns AUTO into ON_WRITE.
    void check();
    /// Throws INVALID_ARGUMENT for an assignment that the type does not have.
    void check_takes(int32_t assign) const;
    /// "\"bias\" float32 [10], ON_WRITE, SUM"
    std::string text() const;
    /// A hash of what text() says, the same on all workers.
    uint64_t hash() const;
};

struct Rows;

/// "ADD"
const char *assign_name(int32_t assign);
/// "SUM"
const char *aggregation_name(int32_t aggregation);

class Variable {
  public:
    /// Creates a variable with a copy of the chief's `initial` on every replica of the job; zeros if `initial` is
    /// undefined on the chief. All workers create it alike, by `kind`.
    static std::shared_ptr<Variable> create(std::shared_ptr<Job> job, std::shared_ptr<VariableStore> store,
                                            VariableSpec spec, const Tensor &initial, CallKind kind,
                                            uint64_t timeout_ns);
    /// The same as create(), but VariableStore::find() does not find it.
    Variable(std::shared_ptr<Job> job, std::shared_ptr<VariableStore> store, VariableSpec spec, const Tensor &initial,
             CallKind kind, uint64_t timeout_ns);
    ~Variable();
    Variable(const Variable &) = delete;
    Variable &operator=(const Variable &) = delete;

    const VariableSpec &spec() const { return spec_; }
    Job &job() const { return *job_; }
    VariableStore &store() const { return *store_; }
    const Tensor &copy(uint32_t local) const { return copies_[local]; }
    /// Throws FAILED_PRECONDITION if a regroup has failed before it had moved the copies.
    void require_copies() const;

    /// Assigns outside of steps; the caller holds the turn. If the client calls it, this is a command.
    void assign(int32_t assign, const ValuePointer &value);
    /// Throws what assign() would throw for a value of `replicas` tensors.
    void check_assignment(int32_t assign, const Value &value, uint32_t replicas) const;
    /// Assigns to one copy, in update context.
    void assign_copy(uint32_t local, int32_t assign, const Value &value);
    /// Its copies have moved: the job has another generation.
    void span_changed() { copies_ = store_->copies_at(offset_, spec_.dtype, spec_.shape); }
    /// Reads outside of steps, together with the other workers if the copies may differ. If the client calls it, this
    /// is a command.
    Tensor read(uint64_t timeout_ns) const;
    /// This worker's first copy, on the host.
    Tensor first_copy() const;
    /// Copies the chief's first copy to all copies of all workers. All workers call it, by `kind`.
    void take_copy_of_chief(CallKind kind, uint64_t timeout_ns);
    /// The same by a command. Does nothing unless the client calls it.
    void spread(uint64_t timeout_ns) const;
    /// Other workers hold a variable on its behalf; tell them to drop it when this is gone.
    void tell_when_gone() { tells_when_gone_ = true; }
    /// Throws FAILED_PRECONDITION if read() would, because no rule says which copy to read.
    void require_readable() const;
    /// Whether reading adds up copies; otherwise a read returns copy 0.
    bool reduced_when_read() const {
        return spec_.synchronization == MDIST_SYNC_ON_READ &&
               (spec_.aggregation == MDIST_AGGREGATION_SUM || spec_.aggregation == MDIST_AGGREGATION_MEAN);
    }
    /// Together do what assign(SET) does with a plain value, for a value that arrives in pieces. write() stores host
    /// bytes in all copies; the other finishes when all pieces are there.
    void write(std::size_t offset, const void *bytes, std::size_t count);
    void finish_writing();
    /// Whether writing it in a step involves all replicas.
    bool aggregated_in_step() const {
        return spec_.synchronization != MDIST_SYNC_ON_READ && spec_.aggregation != MDIST_AGGREGATION_NONE;
    }
    /// Assigns in a step.
    void assign_in_step(Party &party, int32_t assign, const Tensor &tensor, uint64_t timeout_ns);
    void assign_rows_in_step(Party &party, int32_t assign, const Rows &rows, uint64_t timeout_ns);

  private:
    /// The name of an assignment in a step, and a hash of what all replicas must agree on.
    struct Meaning {
        std::string text;
        uint64_t hash;
    };
    void check_write(int32_t assign, const Tensor &tensor, const char *what) const;
    void check_rows_assign(int32_t assign) const;
    /// `device`: its earlier work comes before the rows.
    void check_rows(const Device &device, int32_t assign, const Rows &rows) const;
    void check_owner(const Party &party) const;
    /// Throws unless a caller's memory overlaps no copy or, if `or_same`, is exactly a copy.
    void check_apart(const Tensor &tensor, const char *what, bool or_same) const;
    void apply(uint32_t local, int32_t assign, const Tensor &tensor) const;
    void apply_value(uint32_t local, int32_t assign, const Value &value) const;
    void apply_rows(uint32_t local, int32_t assign, const Rows &rows) const;
    /// Whether a write outside of steps is divided among the copies, so that their sum is the written value.
    bool divided() const {
        return spec_.synchronization == MDIST_SYNC_ON_READ && spec_.aggregation == MDIST_AGGREGATION_SUM;
    }
    void divide() const;
    void give_memory_back() noexcept;

    std::shared_ptr<Job> job_;
    std::shared_ptr<VariableStore> store_;
    VariableSpec spec_;
    std::size_t offset_ = 0;
    std::vector<Tensor> copies_;
    std::vector<Meaning> meanings_; // for SET, ADD, SUB; made once, to keep a step's overhead small
    bool tells_when_gone_ = false;
};

} // namespace mdist

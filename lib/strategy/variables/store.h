// SPDX-License-Identifier: Apache-2.0
// VariableStore: the memory and names of a job's variables. Variables of one dtype lie side by side in one arena per
// local replica, at the same offset on each. It lives at least as long as each of its variables, and may outlive the
// job. Any thread.
#pragma once

#include "device/region.h"
#include "device/tensor.h"
#include "strategy/values/layout.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mdist {

class Value;
class Variable;

/// What the client of an in-graph job does with variables on behalf of all workers (serve/session.h).
class VariableCommands {
  public:
    virtual void assign(Variable &variable, int32_t assign, const std::shared_ptr<Value> &value) = 0;
    virtual Tensor read(const Variable &variable, uint64_t timeout_ns) = 0;
    /// Copies the client's first copy to all copies of all workers.
    virtual void spread(const Variable &variable, uint64_t timeout_ns) = 0;
    /// Reports that a variable is gone which other workers hold for the client. Any thread.
    virtual void drop(const std::string &name) noexcept = 0;

  protected:
    ~VariableCommands() = default;
};

class VariableStore {
  public:
    /// Allocates variables from `source`, unless it is nullptr or a device has its own memory.
    VariableStore(std::vector<std::shared_ptr<Device>> devices, std::shared_ptr<MemorySource> source)
        : devices_(std::move(devices)), scratch_(devices_.size()), source_(std::move(source)) {}

    /// Set in a job with a client, before there are variables.
    VariableCommands *commands = nullptr;

    /// Takes the name and zeroed memory on each replica. Throws INVALID_ARGUMENT if the name is taken.
    struct Place {
        std::size_t offset = 0;
        std::vector<Tensor> copies;
    };
    Place add(const std::string &name, int32_t dtype, const Shape &shape);
    void remove(const std::string &name, int32_t dtype, std::size_t offset, std::size_t bytes) noexcept;

    /// Records the variable's name and place, so that find() can return it.
    void know(const std::shared_ptr<Variable> &variable, const std::string &name, const Tensor &copy,
              std::size_t offset);
    /// The variable of that name; nullptr if there is none.
    std::shared_ptr<Variable> find(const std::string &name) const;
    /// Throws INVALID_ARGUMENT if the name is taken.
    void require_free(const std::string &name) const;
    /// "\"a\", \"b\" and 3 more"
    std::string names_text() const;
    /// The variable whose copy on local replica `local` contains this address; nullptr if there is none.
    std::shared_ptr<Variable> find(const void *address, uint32_t &local) const;

    /// Between enter and exit, the result of a read is also given to later reads. Throws FAILED_PRECONDITION if caching
    /// is on already (enter) or is not on (exit).
    void enter_cached_reads();
    void exit_cached_reads();
    /// nullptr: no read of this variable is cached.
    std::shared_ptr<Value> cached_read(const std::string &name) const;
    /// Does nothing outside of enter and exit.
    void cache_read(const std::string &name, const std::shared_ptr<Value> &value);

    /// Memory for data that will be written to the copies of a replica. Every call returns the same memory, so it is
    /// valid only until the next call. Called by that replica's thread.
    Tensor scratch(uint32_t local, int32_t dtype, const Shape &shape);

    /// All variables that find() can return, by name.
    std::vector<std::shared_ptr<Variable>> all() const;
    /// Gives all variables memory on these devices, in the place of the former ones, at the same offsets. New copies
    /// are zero. Call Variable::span_changed() of each afterwards. For the next generation of an elastic job. If it
    /// throws (DEVICE, OUT_OF_MEMORY), the copies are where they were, so that variables can be destroyed.
    void span_changed(std::vector<std::shared_ptr<Device>> devices);
    /// The copies at an offset on all devices.
    std::vector<Tensor> copies_at(std::size_t offset, int32_t dtype, const Shape &shape) const;

    /// The arena of one replica and dtype as a buffer; 0 elements if no variable has that dtype.
    mdist_buffer_t arena(int32_t dtype, uint32_t local) const;

  private:
    using Devices = std::vector<std::shared_ptr<Device>>;
    using Regions = std::vector<std::unique_ptr<Region>>;

    struct Occupant {
        std::size_t bytes;
        std::weak_ptr<Variable> variable;
    };
    /// All variables of one dtype: one layout, with a region on each local replica.
    struct Arena {
        Layout layout;
        std::map<std::size_t, Occupant> occupants; // by offset
        Regions regions;
        Regions former; // of replicas that work on another device now
    };

    struct Scratch {
        Memory memory;
        std::size_t bytes = 0;
    };

    Memory allocate(uint32_t local, std::size_t bytes) const;
    std::unique_ptr<Region> region_on(Device &device) const;
    Regions lacking_regions(Arena &arena, const Devices &devices) const;
    void empty_regions(Arena &arena, std::size_t replicas);

    std::vector<std::shared_ptr<Device>> devices_;
    std::vector<Scratch> scratch_; // by local replica
    const std::shared_ptr<MemorySource> source_;
    mutable std::mutex mutex_;
    std::map<int32_t, Arena> arenas_;
    std::map<std::string, std::weak_ptr<Variable>> variables_; // by name, also those under construction
    bool caches_reads_ = false;
    std::map<std::string, std::shared_ptr<Value>> cached_reads_;
};

} // namespace mdist

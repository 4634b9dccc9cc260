// SPDX-License-Identifier: Apache-2.0
// VariableStore: the memory and names of a strategy's variables. Variables of one dtype lie side by side in one arena
// per local replica, at the same offset on each. Outlives the strategy as long as a variable does. Any thread.
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

class VariableStore {
  public:
    explicit VariableStore(std::vector<std::shared_ptr<Device>> devices)
        : devices_(std::move(devices)), scratch_(devices_.size()) {}

    /// Where variables' memory comes from; before there are any.
    void set_source(std::shared_ptr<MemorySource> source) { source_ = std::move(source); }

    /// Takes the name, throws INVALID_ARGUMENT if it is taken; and zeroed memory on each replica.
    struct Place {
        std::size_t offset = 0;
        std::vector<Tensor> copies;
    };
    Place add(const std::string &name, int32_t dtype, const Shape &shape);
    void remove(const std::string &name, int32_t dtype, std::size_t offset, std::size_t bytes) noexcept;

    /// Who lies at a place, so that find() can tell.
    void know(const std::shared_ptr<Variable> &variable, int32_t dtype, std::size_t offset);
    /// The variable of that name; null if there is none.
    std::shared_ptr<Variable> find(const std::string &name) const;
    /// Throws INVALID_ARGUMENT if the name is taken.
    void require_free(const std::string &name) const;
    /// "\"a\", \"b\" and 3 more"
    std::string names_text() const;
    /// The variable in whose copy on local replica `local` this address lies; null if there is none.
    std::shared_ptr<Variable> find(const void *address, uint32_t &local) const;

    /// From enter to exit, what a read gave is given to the next, too. Throws FAILED_PRECONDITION where that is so
    /// already, or not.
    void enter_cached_reads();
    void exit_cached_reads();
    /// nullptr: nothing is cached of this variable.
    std::shared_ptr<Value> cached_read(const std::string &name) const;
    /// Nothing happens outside of the two above.
    void cache_read(const std::string &name, const std::shared_ptr<Value> &value);

    /// Memory for what is about to be written into copies of a replica: the same for each call, so only until the next.
    /// By that replica's thread.
    Tensor scratch(uint32_t local, int32_t dtype, const Shape &shape);

    /// The arena of one replica and dtype as a buffer; no elements if there is no such variable.
    mdist_buffer_t arena(int32_t dtype, uint32_t local) const;

  private:
    struct Occupant {
        std::size_t bytes;
        std::weak_ptr<Variable> variable;
    };
    /// All variables of one dtype: one layout, and a region on each local replica.
    struct Arena {
        Layout layout;
        std::map<std::size_t, Occupant> occupants; // by offset
        std::vector<std::unique_ptr<Region>> regions;
    };

    struct Scratch {
        Memory memory;
        std::size_t bytes = 0;
    };

    Memory allocate(uint32_t local, std::size_t bytes) const;

    std::vector<std::shared_ptr<Device>> devices_;
    std::vector<Scratch> scratch_; // by local replica
    std::shared_ptr<MemorySource> source_;
    mutable std::mutex mutex_;
    std::map<int32_t, Arena> arenas_;
    std::map<std::string, std::weak_ptr<Variable>> variables_; // by name, also those that are just being made
    bool caches_reads_ = false;
    std::map<std::string, std::shared_ptr<Value>> cached_reads_;
};

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
#include "strategy/variables/store.h"

#include "util/dtype.h"
#include "util/failure.h"
#include "util/text.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace mdist {
namespace {

Failure taken(const std::string &name) {
    return invalid(text("a variable named \"", name, "\" exists already; names are unique within a strategy"));
}

} // namespace

VariableStore::Place VariableStore::add(const std::string &name, int32_t dtype, const Shape &shape) {
    const std::size_t bytes = checked_bytes(shape, dtype, "variable");
    const std::lock_guard lock(mutex_);
    if (variables_.count(name) != 0) throw taken(name);
    Arena &arena = arenas_[dtype];
    while (arena.regions.size() < devices_.size()) arena.regions.push_back(region_on(*devices_[arena.regions.size()]));

    Place place;
    place.copies.reserve(arena.regions.size());
    const auto entry = variables_.try_emplace(name).first;
    try {
        place.offset = arena.layout.allocate(bytes);
    } catch (...) {
        variables_.erase(entry);
        throw;
    }
    try {
        for (std::size_t local = 0; local < devices_.size(); ++local) {
            Region &region = *arena.regions[local];
            region.commit(arena.layout.used());
            place.copies.push_back(
                Tensor::view(region.base() + place.offset, dtype, shape, Memory(), devices_[local]->place()));
        }
    } catch (...) {
        arena.layout.release(place.offset, bytes);
        variables_.erase(entry);
        throw;
    }
    return place;
}

void VariableStore::remove(const std::string &name, int32_t dtype, std::size_t offset, std::size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    Arena &arena = arenas_.find(dtype)->second;
    for (std::size_t local = 0; local < devices_.size(); ++local) {
        try {
            devices_[local]->zero_given_up(arena.regions[local]->base() + offset, Layout::extent(bytes));
        } catch (const std::exception &) {
            // The GPU has failed; nobody will use the memory again.
        }
    }
    arena.layout.release(offset, bytes);
    arena.occupants.erase(offset);
    variables_.erase(name);
    cached_reads_.erase(name);
}

void VariableStore::know(const std::shared_ptr<Variable> &variable, const std::string &name, const Tensor &copy,
                         std::size_t offset) {
    const std::lock_guard lock(mutex_);
    arenas_[copy.dtype()].occupants[offset] = {copy.bytes(), variable};
    variables_[name] = variable;
}

std::shared_ptr<Variable> VariableStore::find(const std::string &name) const {
    const std::lock_guard lock(mutex_);
    const auto found = variables_.find(name);
    return found == variables_.end() ? nullptr : found->second.lock();
}

void VariableStore::require_free(const std::string &name) const {
    const std::lock_guard lock(mutex_);
    if (variables_.count(name) != 0) throw taken(name);
}

std::string VariableStore::names_text() const {
    constexpr std::size_t kShown = 8;
    const std::lock_guard lock(mutex_);
    std::string names;
    std::size_t shown = 0;
    for (auto entry = variables_.begin(); entry != variables_.end() && shown < kShown; ++entry, ++shown)
        names += text(shown == 0 ? "" : ", ", '"', entry->first, '"');
    if (names.empty()) return "none";
    return variables_.size() > shown ? text(names, " and ", variables_.size() - shown, " more") : names;
}

std::shared_ptr<Variable> VariableStore::find(const void *address, uint32_t &local) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const std::lock_guard lock(mutex_);
    for (const auto &[dtype, arena] : arenas_) {
        for (local = 0; local < devices_.size() && local < arena.regions.size(); ++local) {
            const auto base = reinterpret_cast<std::uintptr_t>(arena.regions[local]->base());
            if (at < base || at - base >= arena.layout.used()) continue;
            const auto behind = arena.occupants.upper_bound(at - base);
            if (behind == arena.occupants.begin()) return nullptr;
            const auto &[offset, occupant] = *std::prev(behind);
            // A variable without elements has an address all the same.
            const bool inside = at - base - offset < std::max<std::size_t>(occupant.bytes, 1);
            return inside ? occupant.variable.lock() : nullptr;
        }
    }
    return nullptr;
}

void VariableStore::enter_cached_reads() {
    const std::lock_guard lock(mutex_);
    if (caches_reads_)
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      "reads of this strategy's variables are already cached, and caching does not nest; call "
                      "mdist_cached_reads_exit first")
            .reason("cached_reads");
    caches_reads_ = true;
}

void VariableStore::exit_cached_reads() {
    const std::lock_guard lock(mutex_);
    if (!caches_reads_)
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      "reads of this strategy's variables are not cached; call mdist_cached_reads_enter first")
            .reason("cached_reads");
    caches_reads_ = false;
    cached_reads_.clear();
}

std::shared_ptr<Value> VariableStore::cached_read(const std::string &name) const {
    const std::lock_guard lock(mutex_);
    const auto found = cached_reads_.find(name);
    return found == cached_reads_.end() ? nullptr : found->second;
}

void VariableStore::cache_read(const std::string &name, const std::shared_ptr<Value> &value) {
    const std::lock_guard lock(mutex_);
    if (caches_reads_) cached_reads_.emplace(name, value);
}

/// Where possible, allocates memory that the other workers of this host read without a copy.
Memory VariableStore::allocate(uint32_t local, std::size_t bytes) const {
    Memory shared = source_ && devices_[local]->place().on_host() ? source_->try_allocate(bytes) : nullptr;
    return shared ? shared : devices_[local]->allocate(bytes);
}

Tensor VariableStore::scratch(uint32_t local, int32_t dtype, const Shape &shape) {
    const std::size_t bytes = checked_bytes(shape, dtype, "variable");
    Scratch &scratch = scratch_[local];
    if (!scratch.memory || scratch.bytes < bytes) {
        scratch = {}; // free the old memory first
        scratch = {allocate(local, bytes), bytes};
    }
    return Tensor::view(scratch.memory.get(), dtype, shape, scratch.memory, devices_[local]->place());
}

std::vector<std::shared_ptr<Variable>> VariableStore::all() const {
    std::vector<std::shared_ptr<Variable>> variables;
    const std::lock_guard lock(mutex_);
    for (const auto &[name, entry] : variables_)
        if (auto variable = entry.lock()) variables.push_back(std::move(variable));
    return variables;
}

std::unique_ptr<Region> VariableStore::region_on(Device &device) const {
    auto own = device.memory_source();
    return std::make_unique<Region>(own ? std::move(own) : source_);
}

/// Makes the regions zero that are not used with so few replicas. The program may still have addresses of them, so they
/// stay. The host's memory goes back to the system. A GPU's does not, and is there when a replica comes back.
void VariableStore::empty_regions(Arena &arena, std::size_t replicas) {
    for (std::size_t i = replicas; i < arena.regions.size(); ++i) {
        Region &region = *arena.regions[i];
        if (region.place().on_host())
            region.clear();
        else if (i < devices_.size()) // else it is zero already
            devices_[i]->zero(region.base(), arena.layout.used());
    }
}

/// Makes the regions that an arena lacks on these devices, and gives all of them memory. nullptr: the arena has one.
VariableStore::Regions VariableStore::lacking_regions(Arena &arena, const Devices &devices) const {
    Regions lacking(devices.size());
    arena.regions.reserve(devices.size());
    arena.former.reserve(arena.former.size() + devices.size());
    for (std::size_t i = 0; i < devices.size(); ++i) {
        const bool is_there = i < arena.regions.size() && arena.regions[i]->place() == devices[i]->place();
        if (!is_there) lacking[i] = region_on(*devices[i]); // also for a newcomer that has its GPUs only now
        (is_there ? *arena.regions[i] : *lacking[i]).commit(arena.layout.used());
    }
    return lacking;
}

void VariableStore::span_changed(Devices devices) {
    const std::lock_guard lock(mutex_);
    for (Scratch &scratch : scratch_) scratch = {}; // room for the regions
    for (auto &[dtype, arena] : arenas_) empty_regions(arena, devices.size());
    std::vector<Regions> lacking;
    for (auto &[dtype, arena] : arenas_) lacking.push_back(lacking_regions(arena, devices));
    std::vector<Scratch> scratch(devices.size());
    // Nothing fails from here on.
    auto of_arena = lacking.begin();
    for (auto &[dtype, arena] : arenas_) {
        Regions &regions = *of_arena++;
        for (std::size_t i = 0; i < regions.size(); ++i) {
            if (!regions[i]) continue;
            if (i == arena.regions.size()) {
                arena.regions.push_back(std::move(regions[i]));
                continue;
            }
            arena.regions[i]->clear();
            arena.former.push_back(std::exchange(arena.regions[i], std::move(regions[i])));
        }
    }
    devices_ = std::move(devices);
    scratch_ = std::move(scratch);
    cached_reads_.clear();
}

std::vector<Tensor> VariableStore::copies_at(std::size_t offset, int32_t dtype, const Shape &shape) const {
    std::vector<Tensor> copies;
    const std::lock_guard lock(mutex_);
    const Arena &arena = arenas_.at(dtype);
    for (std::size_t local = 0; local < devices_.size(); ++local)
        copies.push_back(
            Tensor::view(arena.regions[local]->base() + offset, dtype, shape, Memory(), devices_[local]->place()));
    return copies;
}

mdist_buffer_t VariableStore::arena(int32_t dtype, uint32_t local) const {
    const std::lock_guard lock(mutex_);
    const auto found = arenas_.find(dtype);
    if (found == arenas_.end() || found->second.layout.used() == 0) return {nullptr, 0, dtype, 0};
    const Arena &arena = found->second;
    return {arena.regions[local]->base(), arena.layout.used() / dtype_size(dtype), dtype, 0};
}

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
#include "api/handle.h"

#include <cstdio>
#include <mutex>

#include "util/failure.h"
#include "util/text.h"

namespace mdist {
namespace {

// The tag makes every handle an invalid address. On x86-64, bit 63 differs from bit 56, so no paging mode accepts the
// address, even with address masking. 64-bit ARM ignores the tag, but a user's address there has zeros in bits 52 to
// 55. A handle has the upper four bits of its kind there, so kinds count from 2.
constexpr uint64_t kTag = 0xd4;
constexpr int kTagShift = 56;
constexpr int kKindShift = 51;
constexpr int kGenerationShift = 20;
constexpr uint32_t kLastKind = (1u << (kTagShift - kKindShift)) - 1;
constexpr uint32_t kLastGeneration = (1u << (kKindShift - kGenerationShift)) - 1;

constexpr uint32_t kChunkBits = 10;
constexpr uint32_t kChunkSlots = 1u << kChunkBits;
constexpr uint32_t kChunks = 1u << (kGenerationShift - kChunkBits);
constexpr uint32_t kNone = UINT32_MAX;

// A slot's state: generation (32 bits, of which an id shows 31) | live | doomed | pins (30).
// A lookup adds a pin before it knows whether the id is valid, and removes the pin if not. Pins therefore come and go
// in every state.
//   free or parked  neither bit: no id of this generation has been given out yet
//   live            the id of this generation resolves
//   doomed          no id resolves any more; whoever brings the pins to 0 takes the object out and frees the slot
constexpr uint64_t kPin = 1;
constexpr uint64_t kPinMask = (uint64_t{1} << 30) - 1;
constexpr uint64_t kDoomed = uint64_t{1} << 30;
constexpr uint64_t kLive = uint64_t{1} << 31;
constexpr uint64_t kGeneration = uint64_t{1} << 32;

uint32_t generation_of(uint64_t state) {
    return static_cast<uint32_t>(state >> 32);
}

struct Id {
    uint64_t bits;

    explicit Id(const void *handle) : bits(reinterpret_cast<uintptr_t>(handle)) {}
    bool tagged() const { return bits >> kTagShift == kTag; }
    unsigned kind() const { return (bits >> kKindShift) & kLastKind; }
    uint32_t generation() const { return static_cast<uint32_t>(bits >> kGenerationShift) & kLastGeneration; }
    uint32_t index() const { return bits & ((1u << kGenerationShift) - 1); }
};

/// Slots in chunks that are never moved or freed. The free list is first in, first out, so that generations last
/// longer. Slots that are given back wait in a list of their own, which needs no lock.
class Table {
  public:
    constexpr Table() = default;

    HandleSlot *find(uint32_t index) const {
        HandleSlot *chunk = chunks_[index >> kChunkBits].load(std::memory_order_acquire);
        return chunk == nullptr ? nullptr : chunk + (index & (kChunkSlots - 1));
    }

    HandleSlot *take() {
        const std::lock_guard<std::mutex> hold(lock_);
        if (first_ == kNone) collect_returned();
        if (first_ == kNone) grow();
        HandleSlot *slot = find(first_);
        first_ = slot->next_free;
        if (first_ == kNone) last_ = kNone;
        return slot;
    }

    /// Takes no lock. The slot goes behind all those of the free list.
    void give_back(HandleSlot *slot) noexcept {
        uint32_t before = returned_.load(std::memory_order_relaxed);
        do slot->next_free = before;
        while (!returned_.compare_exchange_weak(before, slot->index, std::memory_order_release,
                                                std::memory_order_relaxed));
    }

  private:
    /// Makes the free list, which is empty, of the slots that were given back. The first one comes first.
    void collect_returned() {
        uint32_t index = returned_.exchange(kNone, std::memory_order_acquire);
        last_ = index;
        while (index != kNone) {
            HandleSlot *slot = find(index);
            index = std::exchange(slot->next_free, first_);
            first_ = slot->index;
        }
    }

    void append(HandleSlot *slot) {
        slot->next_free = kNone;
        (last_ == kNone ? first_ : find(last_)->next_free) = slot->index;
        last_ = slot->index;
    }

    void grow() {
        if (chunk_count_ == kChunks)
            throw Failure(MDIST_ERR_RESOURCE, text("all ", kChunks * kChunkSlots, " handles are in use; destroy some"))
                .reason("too_many_handles");
        auto *chunk = new HandleSlot[kChunkSlots];
        const uint32_t first = chunk_count_ * kChunkSlots;
        for (uint32_t i = 0; i < kChunkSlots; ++i) {
            chunk[i].index = first + i;
            chunk[i].state.store(kGeneration, std::memory_order_relaxed);
        }
        chunks_[chunk_count_++].store(chunk, std::memory_order_release);
        for (uint32_t i = 0; i < kChunkSlots; ++i) append(&chunk[i]);
    }

    std::mutex lock_;
    std::atomic<uint32_t> returned_{kNone}; // the slot that was given back last; next_free leads to the one before
    std::atomic<HandleSlot *> chunks_[kChunks] = {};
    uint32_t chunk_count_ = 0;
    uint32_t first_ = kNone;
    uint32_t last_ = kNone;
};

// Usable before the constructors and after the destructors of other files have run.
constinit Table table;

struct KindName {
    const char *expected;
    const char *gone;
};

constexpr KindName kNames[] = {
    {"no", ""}, // no kind has number 0 or 1
    {"no", ""},
    {"a config", "a config that was destroyed"},
    {"a strategy", "a strategy that was destroyed"},
    {"a replica", "a replica whose step has ended"},
    {"a value", "a value that was destroyed"},
    {"a variable", "a variable that was destroyed"},
    {"a dataset", "a dataset that was destroyed"},
    {"an iterator", "an iterator that was destroyed"},
    {"a work", "a work that was destroyed"},
    {"a store", "a store that was destroyed"},
    {"a cluster", "a cluster that was destroyed"},
    {"a checkpoint", "a checkpoint that was destroyed"},
    {"gradients", "gradients that were destroyed"},
    {"a loop", "a loop that was destroyed, or failed"},
    {"a record writer", "a record writer that was destroyed"},
    {"a group", "a group that was destroyed"},
    {"a prepared call", "a prepared call that was destroyed"},
    {"a blob", "a blob that was destroyed"},
};
constexpr unsigned kKindCount = sizeof kNames / sizeof *kNames;
static_assert(kKindCount == static_cast<unsigned>(Kind::kBlob) + 1, "every kind has a name");
static_assert(kKindCount - 1 <= kLastKind, "every kind fits beside the tag");
static_assert(static_cast<unsigned>(Kind::kConfig) >= 2, "no kind has zeros in its upper four bits");

enum class Verdict { kGood, kNull, kNever, kOther, kGone };

struct Lookup {
    Verdict verdict;
    HandleSlot *slot;
};

Lookup look_up(const void *handle, Kind kind) {
    if (handle == nullptr) return {Verdict::kNull, nullptr};
    const Id id(handle);
    HandleSlot *slot = id.tagged() && id.kind() >= 2 && id.kind() < kKindCount ? table.find(id.index()) : nullptr;
    if (slot == nullptr) return {Verdict::kNever, nullptr};
    if (id.kind() != static_cast<unsigned>(kind)) return {Verdict::kOther, nullptr};
    const uint64_t state = slot->state.fetch_add(kPin, std::memory_order_acquire);
    const bool same = generation_of(state) == id.generation();
    if (same && (state & kLive) != 0 && slot->kind == kind) return {Verdict::kGood, slot};
    unpin_slot(slot);
    const bool was = same ? (state & kDoomed) != 0 : id.generation() != 0 && id.generation() < generation_of(state);
    return {was ? Verdict::kGone : Verdict::kNever, nullptr};
}

[[noreturn]] void refuse(Verdict verdict, const void *handle, Kind kind) {
    char id[32];
    std::snprintf(id, sizeof id, "%p", handle);
    const std::string what = verdict == Verdict::kNull   ? "NULL"
                             : verdict == Verdict::kGone ? text(kNames[static_cast<unsigned>(kind)].gone, " (", id, ")")
                             : verdict == Verdict::kOther
                                 ? text(kNames[Id(handle).kind()].expected, " handle (", id, ")")
                                 : text(id, ", which was never a handle");
    const char *hint = kind == Kind::kReplica && verdict != Verdict::kGone ? "; a step gets it from mdist_run" : "";
    if (kind == Kind::kValue && verdict == Verdict::kNull) hint = "; a result that no step has set is NULL";
    throw Failure(MDIST_ERR_BAD_HANDLE,
                  text("expected ", kNames[static_cast<unsigned>(kind)].expected, " handle, got ", what, hint));
}

/// Frees a doomed slot that has no pins. As pins come and go, several threads may try; one succeeds.
void try_free(HandleSlot *slot, uint32_t generation) noexcept {
    uint64_t doomed = generation * kGeneration | kDoomed;
    const bool last = generation == kLastGeneration;
    // In the last generation the slot stays doomed with a pin that is never removed. It is never used again.
    const uint64_t freed = last ? doomed | kPin : (generation + 1) * kGeneration;
    if (!slot->state.compare_exchange_strong(doomed, freed, std::memory_order_acq_rel, std::memory_order_relaxed))
        return;
    const std::shared_ptr<void> object = std::move(slot->object); // destroyed after the lock is released
    if (!last) table.give_back(slot);
}

} // namespace

HandleSlot *publish_slot(Kind kind, std::shared_ptr<void> object, bool live) {
    HandleSlot *const slot = table.take();
    slot->object = std::move(object);
    slot->kind = kind;
    if (live) slot->state.fetch_add(kLive, std::memory_order_release);
    return slot;
}

HandleSlot *pin_slot(const void *handle, Kind kind) {
    const Lookup lookup = look_up(handle, kind);
    if (lookup.slot == nullptr) refuse(lookup.verdict, handle, kind);
    return lookup.slot;
}

HandleSlot *try_pin_slot(const void *handle, Kind kind) noexcept {
    return look_up(handle, kind).slot;
}

void unpin_slot(HandleSlot *slot) noexcept {
    const uint64_t before = slot->state.fetch_sub(kPin, std::memory_order_acq_rel);
    if ((before & kDoomed) != 0 && (before & kPinMask) == kPin) try_free(slot, generation_of(before));
}

std::shared_ptr<void> retire_handle(const void *handle, Kind kind) noexcept {
    HandleSlot *slot = look_up(handle, kind).slot;
    if (slot == nullptr) return nullptr;
    const uint32_t generation = Id(handle).generation();
    std::shared_ptr<void> object;
    uint64_t state = slot->state.load(std::memory_order_relaxed);
    while ((state & kLive) != 0 && generation_of(state) == generation) {
        if (!slot->state.compare_exchange_weak(state, (state & ~kLive) | kDoomed, std::memory_order_acq_rel,
                                               std::memory_order_relaxed))
            continue;
        object = slot->object;
        break;
    }
    unpin_slot(slot);
    return object;
}

void *slot_id(const HandleSlot *slot) noexcept {
    const uint64_t generation = generation_of(slot->state.load(std::memory_order_relaxed));
    return reinterpret_cast<void *>(kTag << kTagShift | static_cast<uint64_t>(slot->kind) << kKindShift |
                                    generation << kGenerationShift | slot->index);
}

RenewableSlot::RenewableSlot(Kind kind, std::shared_ptr<void> object)
    : slot_(publish_slot(kind, std::move(object), false)),
      generation_(generation_of(slot_->state.load(std::memory_order_relaxed))) {}

RenewableSlot::RenewableSlot(RenewableSlot &&other) noexcept
    : slot_(std::exchange(other.slot_, nullptr)), generation_(other.generation_), live_(other.live_) {}

RenewableSlot &RenewableSlot::operator=(RenewableSlot &&other) noexcept {
    std::swap(slot_, other.slot_);
    std::swap(generation_, other.generation_);
    std::swap(live_, other.live_);
    return *this;
}

RenewableSlot::~RenewableSlot() {
    if (slot_ == nullptr) return;
    // Adds a pin of its own. Removing that pin frees the slot if there are no other pins.
    slot_->state.fetch_add(live_ ? kDoomed - kLive + kPin : kDoomed + kPin, std::memory_order_acq_rel);
    unpin_slot(slot_);
}

void *RenewableSlot::renew() {
    // A slot never becomes live in the last generation: retire() must still be able to increment it.
    while (generation_ >= kLastGeneration - 1) *this = RenewableSlot(slot_->kind, slot_->object);
    slot_->state.fetch_add(live_ ? kGeneration : kLive, std::memory_order_release);
    generation_ += live_ ? 1 : 0;
    live_ = true;
    return slot_id(slot_);
}

void RenewableSlot::retire() noexcept {
    if (!live_) return;
    slot_->state.fetch_add(kGeneration - kLive, std::memory_order_release);
    ++generation_;
    live_ = false;
}

} // namespace mdist

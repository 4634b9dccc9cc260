// SPDX-License-Identifier: Apache-2.0
// Handle: the checked id that callers hold instead of a pointer.
//
// A handle's value is tag (8 bits) | kind (5) | generation (31) | index (20). The tag makes it an address that no
// process can have, so an id is never a real pointer and never NULL. The index names a slot of one table. A slot
// increments its generation with each object, so an id that was given up never resolves again.
// A lookup takes no lock. One atomic addition pins the slot, and the value it returns says whether the id is still
// valid. All functions: any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <mdist/mdist.h>

namespace mdist {

// All handles: the kind, the public type, and the object behind it.
// clang-format off
#define MDIST_HANDLES(f)                                        \
    f(kConfig, mdist_config_t, class Config)                    \
    f(kStrategy, mdist_strategy_t, class Strategy)              \
    f(kReplica, mdist_replica_t, class Replica)                 \
    f(kValue, mdist_value_t, class Value)                       \
    f(kVariable, mdist_variable_t, class Variable)              \
    f(kDataset, mdist_dataset_t, class Dataset)                 \
    f(kIterator, mdist_iterator_t, class Iterator)              \
    f(kWork, mdist_work_t, class Work)                          \
    f(kStore, mdist_store_t, class StoreService)                \
    f(kCluster, mdist_cluster_t, class ExplainedCluster)        \
    f(kCheckpoint, mdist_checkpoint_t, class Checkpoint)        \
    f(kGradients, mdist_gradients_t, class Gradients)           \
    f(kLoop, mdist_loop_t, class Loop)                          \
    f(kRecordWriter, mdist_record_writer_t, class RecordWriter) \
    f(kGroup, mdist_group_t, class ReplicaGroup)                \
    f(kCall, mdist_prepared_t, class PreparedCall)              \
    f(kBlob, mdist_blob_t, struct Blob)
// clang-format on

#define MDIST_KIND(kind, Public, Object) kind,
enum class Kind : uint8_t {
    kNone = 1, // see kTag
    MDIST_HANDLES(MDIST_KIND)
};
#undef MDIST_KIND

/// The object type behind a public type, and its kind.
template <class Public>
struct HandleTraits;
template <class T, Kind kind>
struct HandleOf {
    using Object = T;
    static constexpr Kind kKind = kind;
};
#define MDIST_TRAITS(kind, Public, Object) \
    template <>                            \
    struct HandleTraits<Public> : HandleOf<Object, Kind::kind> {};
MDIST_HANDLES(MDIST_TRAITS)
#undef MDIST_TRAITS
template <class Public>
using ObjectOf = typename HandleTraits<Public>::Object;

/// A place in the table, on its own cache line. The owner of the slot writes everything but `state`, while there are no
/// valid pins and the slot is not in the free list. Threads that hold a pin read it.
struct alignas(64) HandleSlot {
    std::atomic<uint64_t> state;
    std::shared_ptr<void> object;
    uint32_t index;
    uint32_t next_free; // of whoever gives the slot back, then guarded by the table's lock
    Kind kind;
};

/// The untyped functions; use the templates below.
HandleSlot *publish_slot(Kind kind, std::shared_ptr<void> object, bool live);
HandleSlot *pin_slot(const void *handle, Kind kind);
HandleSlot *try_pin_slot(const void *handle, Kind kind) noexcept;
void unpin_slot(HandleSlot *slot) noexcept;
std::shared_ptr<void> retire_handle(const void *handle, Kind kind) noexcept;
void *slot_id(const HandleSlot *slot) noexcept;

/// Keeps the object of a handle alive, even if the handle is given up meanwhile. It is empty (false) only if it comes
/// from try_pin() or was moved from.
template <class T>
class Pinned {
  public:
    Pinned() = default;
    explicit Pinned(HandleSlot *slot) noexcept : slot_(slot) {}
    Pinned(Pinned &&other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
    Pinned &operator=(Pinned &&other) noexcept {
        std::swap(slot_, other.slot_);
        return *this;
    }
    ~Pinned() {
        if (slot_ != nullptr) unpin_slot(slot_);
    }

    T *get() const { return static_cast<T *>(slot_->object.get()); }
    T *operator->() const { return get(); }
    T &operator*() const { return *get(); }
    explicit operator bool() const { return slot_ != nullptr; }
    /// Returns a reference that outlives the pin.
    std::shared_ptr<T> shared() const { return std::static_pointer_cast<T>(slot_->object); }

  private:
    HandleSlot *slot_ = nullptr;
};

/// Makes a new handle that owns `object`. Throws RESOURCE ("too_many_handles") or bad_alloc; then it has published
/// nothing.
template <class Public>
Public *publish(std::shared_ptr<ObjectOf<Public>> object) {
    return static_cast<Public *>(slot_id(publish_slot(HandleTraits<Public>::kKind, std::move(object), true)));
}

/// Makes a handle of each object, NULL for null. Throws as publish() does; then there are none.
template <class Public>
void publish_all(std::vector<std::shared_ptr<ObjectOf<Public>>> objects, Public **handles) {
    std::vector<Public *> made(objects.size());
    try {
        for (std::size_t i = 0; i < made.size(); ++i)
            if (objects[i] != nullptr) made[i] = publish<Public>(std::move(objects[i]));
    } catch (...) {
        for (Public *handle : made) retire_handle(handle, HandleTraits<Public>::kKind);
        throw;
    }
    std::copy(made.begin(), made.end(), handles);
}

/// Throws BAD_HANDLE, naming the expected type and the type found.
template <class Public>
Pinned<ObjectOf<Public>> pin(const Public *handle) {
    return Pinned<ObjectOf<Public>>(pin_slot(handle, HandleTraits<Public>::kKind));
}

/// Returns an empty pin for anything that pin() refuses.
template <class Public>
Pinned<ObjectOf<Public>> try_pin(const Public *handle) noexcept {
    return Pinned<ObjectOf<Public>>(try_pin_slot(handle, HandleTraits<Public>::kKind));
}

/// Makes the id invalid and returns its object; null for anything that pin() refuses. If two threads retire one handle,
/// only one gets the object. The table's own reference goes with the last pin.
template <class Public>
std::shared_ptr<ObjectOf<Public>> retire(const Public *handle) noexcept {
    return std::static_pointer_cast<ObjectOf<Public>>(retire_handle(handle, HandleTraits<Public>::kKind));
}

/// A slot held for a long time under changing ids, for replicas: each step gives them a new handle. One thread at a
/// time.
class RenewableSlot {
  public:
    RenewableSlot(Kind kind, std::shared_ptr<void> object);
    RenewableSlot(RenewableSlot &&other) noexcept;
    RenewableSlot &operator=(RenewableSlot &&other) noexcept;
    ~RenewableSlot();

    void *renew();
    void retire() noexcept;

  private:
    HandleSlot *slot_;
    uint32_t generation_;
    bool live_ = false;
};

/// Starts without a valid id. The object must not own its Renewable, or neither would ever be destroyed.
template <class Public>
class Renewable {
  public:
    explicit Renewable(std::shared_ptr<ObjectOf<Public>> object)
        : slot_(HandleTraits<Public>::kKind, std::move(object)) {}

    /// Gives up the old id, if there is one, and returns a new one with one atomic addition. Once in two thousand
    /// million times it takes another slot; only then may it throw.
    Public *renew() { return static_cast<Public *>(slot_.renew()); }
    /// Gives up the id. Existing pins stay valid.
    void retire() noexcept { slot_.retire(); }

  private:
    RenewableSlot slot_;
};

} // namespace mdist

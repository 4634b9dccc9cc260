// SPDX-License-Identifier: Apache-2.0
// Dataset: a description of elements. It is an immutable tree; each transform adds a node on top.
// Stream: one run through a dataset. It produces the elements.
//
// Any thread may use a dataset. One thread at a time may use a stream. A stream keeps its dataset alive.
//
// A new source or transform is one file with three parts:
// - a class derived from Streamed, and so from Dataset (from Transform, if it has a source). Its constructor checks the
//   arguments and declares what the elements look like. traits() and with_sources() serve the code that explains
//   datasets, deals them out, and recognises them again;
// - a class derived from Stream. produce() makes the next element, rewind() starts again;
// - a make_ function in transforms.h or sources.h, which is all that other files see.
// open() hands an Iteration down from the iterator to the source. It holds what every stream must know: how to be told
// to stop, which orders shuffles take, who else takes elements.
// A transform that works on several elements at a time, such as a parallel map, must keep their order by itself.
//
// A saved position is the number of elements taken. It is restored by replay() of a new stream, so a stream has no
// state to save. Instead, it must produce the same elements each time it is opened with the same Series. A stream that
// cannot says so (Series::refuse).
//
// Records of files may be read straight to where they are needed: next_into().
#pragma once

#include "data/element.h"
#include "data/room.h"
#include "data/series.h"

#include <mdist/dataset.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mdist {

/// A request to stop. All streams below the one that makes it see it.
class Stop {
  public:
    explicit Stop(std::shared_ptr<const Stop> outer) : outer_(std::move(outer)) {}
    void request() { requested_.store(true, std::memory_order_relaxed); }
    void withdraw() { requested_.store(false, std::memory_order_relaxed); }
    bool requested() const {
        return requested_.load(std::memory_order_relaxed) || (outer_ != nullptr && outer_->requested());
    }

  private:
    std::atomic<bool> requested_{false};
    std::shared_ptr<const Stop> outer_;
};

class Agreement; // data/agreement.h
class KeptInput; // data/keep.h

/// What every stream of one iteration is told.
struct Iteration {
    std::shared_ptr<const Stop> stop; // may be null
    /// Becomes true when the streams' destruction must wait for their threads to end; may be null.
    std::shared_ptr<const std::atomic<bool>> awaited;
    /// Counts corrupt records that were left out; may be null.
    std::shared_ptr<std::atomic<uint64_t>> skipped = nullptr;
    /// Determines the orders that shuffles take; may be null.
    std::shared_ptr<Series> series = nullptr;
    /// For a distributed dataset; null if this worker need not ask the others.
    std::shared_ptr<Agreement> agreement = nullptr;
    /// Receives the rows of every replica in each element of a distributed dataset; may be null. Only the caller's
    /// thread uses it.
    std::shared_ptr<StepRows> step_rows = nullptr;
    /// What the iteration keeps, so that it can go back without reading again; may be null.
    std::shared_ptr<KeptInput> kept = nullptr;
    /// Makes every run give the same elements in the same order: shuffles do not reshuffle. True below a cache.
    bool alike = false;
};

class Stream {
  public:
    explicit Stream(const Iteration &iteration) : stop_(iteration.stop) {}
    virtual ~Stream() = default;
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;

    /// Produces the next element into `out`. Returns false after the last element, on every later call, and once told
    /// to stop (whoever did that looks at no more elements). `out` is overwritten, or undefined at the end. After an
    /// exception only destruction is allowed.
    bool next(Element &out) {
        if (ended_ || (stop_ != nullptr && stop_->requested())) return false;
        if (produce(out)) return true;
        ended_ = true;
        return false;
    }
    /// Tells whether next_into() may use the room, so that it is worth offering one.
    virtual bool fills_rooms() const { return false; }
    enum class Got { kEnd, kElement, kBytes };
    /// Produces the next element, as next() does. kBytes: the element is one component, uint8 [length]. Its bytes are
    /// in the memory that `room` offered last, and `out` is undefined. kElement: it is in `out`, whatever the room
    /// offered.
    Got next_into(Room &room, Element &out) {
        if (ended_ || (stop_ != nullptr && stop_->requested())) return Got::kEnd;
        const Got got = produce_into(room, out);
        ended_ = got == Got::kEnd;
        return got;
    }
    /// Does what `count` calls of next() would, when nobody wants the elements. Overwrites `scratch`. False at the end.
    bool pass_over(uint64_t count, Element &scratch) {
        if (ended_ || (stop_ != nullptr && stop_->requested())) return false;
        if (leave_out(count, scratch)) return true;
        ended_ = true;
        return false;
    }
    /// Skips `count` elements that next() gave in an earlier run like this one. Their checks passed then, and nobody
    /// needs what a user's function made of them. Returns how many it skipped: fewer than `count` only at the end.
    uint64_t replay(uint64_t count, Element &scratch) {
        if (ended_ || (stop_ != nullptr && stop_->requested())) return 0;
        const uint64_t done = leap(count, scratch);
        ended_ = done < count;
        return done;
    }
    /// Starts again at the first element, as the next epoch of the same iteration.
    void restart() {
        rewind();
        ended_ = false;
    }

  protected:
    /// Not called again once it has returned false.
    virtual bool produce(Element &out) = 0;
    virtual void rewind() = 0;
    /// For streams that fill rooms. Not called again once it has returned kEnd.
    virtual Got produce_into(Room &, Element &out) { return produce(out) ? Got::kElement : Got::kEnd; }
    /// Implements pass_over(). Override it to skip without making the elements. Like produce(), it is not called again
    /// once it has returned false.
    virtual bool leave_out(uint64_t count, Element &scratch) {
        for (; count != 0; --count)
            if (!next(scratch)) return false;
        return true;
    }
    /// Implements replay(). Override it to skip without making the elements. Not called again once it has returned
    /// fewer than `count`.
    virtual uint64_t leap(uint64_t count, Element &scratch) {
        uint64_t done = 0;
        while (done < count && next(scratch)) ++done;
        return done;
    }

  private:
    std::shared_ptr<const Stop> stop_;
    bool ended_ = false;
};

/// What is known about a component in advance: always its type and rank; its dimensions unless kUnknown.
struct Spec {
    static constexpr uint64_t kUnknown = MDIST_UNKNOWN_LENGTH; // the value that callers write
    int32_t dtype = 0;
    Shape shape;
    std::string path = {}; // the program's name for it; empty: none

    std::string lengths() const; // "784, ?"
};

/// Returns each component's path in an element that is seen as one value: its name if all components are named, its
/// position otherwise. An only component has the path "".
std::vector<std::string> paths_of(const std::vector<Spec> &spec);

class Dataset;
class Iterator;
using Sources = std::vector<std::shared_ptr<const Dataset>>;

/// What the code that deals out or explains a dataset needs to know about it (distribute/plan.h).
struct Traits {
    enum class Role { kOrdinary, kReader, kShuffle, kShardPlaceholder };
    std::string text = "dataset"; // a line for people, with its arguments: "batch(4)"
    /// Replaces `text` in the description that saved positions carry. "": it changes neither elements nor their order.
    std::optional<std::string> identity = {};
    Role role = Role::kOrdinary;
    std::optional<uint64_t> batch_size = {}; // each element, except the last, joins this many of the source
    bool keeps_batch_size = false;           // its elements have as many rows as its source's
};

class Dataset : public std::enable_shared_from_this<Dataset> {
  public:
    explicit Dataset(std::vector<Spec> spec) : paths_(paths_of(spec)), spec_(std::move(spec)) {}
    virtual ~Dataset() = default;
    Dataset &operator=(const Dataset &) = delete;

    virtual std::unique_ptr<Stream> open(const Iteration &iteration) const = 0;
    /// Describes how the first `taken` elements of a distributed dataset depend on the workers and replicas. The text
    /// is the same on all workers. It is "" if they do not depend on them, for example where elements are global
    /// batches. A saved position is restored only if this text is the same.
    virtual std::string layout([[maybe_unused]] uint64_t taken) const { return {}; }
    /// Returns the number of elements, if known without producing them.
    virtual std::optional<uint64_t> size() const { return std::nullopt; }
    /// 0: elements are plain, with one tensor per component. R: the dataset is distributed over R local replicas. An
    /// element then has R tensors for the first component, R for the second, and so on.
    virtual std::size_t replica_count() const { return 0; }
    /// Makes the agreement of a new iteration; null if it needs none.
    virtual std::shared_ptr<Agreement> agreement() const { return nullptr; }
    /// Makes what a new iteration keeps for going back; null if it keeps nothing.
    virtual std::shared_ptr<KeptInput> new_kept() const { return nullptr; }

    /// Returns the datasets that this one is made from.
    virtual Sources sources() const { return {}; }
    /// Makes the same dataset over other sources, whose elements are alike. The two share their counters (the iterators
    /// of a shuffle) and their functions. The new one keeps nothing that came from the former sources (a cache).
    virtual std::shared_ptr<const Dataset> with_sources(const Sources &sources) const;
    virtual Traits traits() const { return {}; }
    /// Describes in a line what it is made of, with all datasets below it. As far as can be told, datasets have equal
    /// descriptions if they give equal elements in the same order. So it leaves out what changes neither (prefetch,
    /// names, distribution).
    virtual std::string description() const;
    /// Tells whether it certainly has elements and never ends.
    virtual bool endless() const { return false; }

    /// Told of each new iterator over it. An elastic job moves those that change with the span of the worker.
    virtual void note_iterator(const std::shared_ptr<Iterator> &) const {}
    /// Describes for people how it was dealt out; "" if it was not.
    virtual std::string deal_text() const { return {}; }

    /// Tells whether it uses the caller's memory or function and cannot tell the caller when it no longer needs them.
    /// If so, destroying a stream waits until the stream's threads have ended. Otherwise threads may end later.
    virtual bool borrows() const = 0;
    /// Tells whether some function of the caller's may run only on the thread that asks for elements.
    virtual bool callers_thread_only() const { return false; }

    const std::vector<Spec> &spec() const { return spec_; }
    const std::vector<std::string> &paths() const { return paths_; }
    std::size_t component_count() const { return spec_.size(); }

  protected:
    Dataset(const Dataset &) = default;
    /// Returns the reference that a stream of `dataset` holds.
    template <class T>
    static std::shared_ptr<const T> self(const T &dataset) {
        return std::static_pointer_cast<const T>(dataset.shared_from_this());
    }

  private:
    std::vector<std::string> paths_;
    std::vector<Spec> spec_;
};

/// "float32 [784], int64 []", for descriptions.
std::string text_of(const std::vector<Spec> &spec);

/// Throws INVALID_ARGUMENT for a count of 0, or one too large to be meant. Call it before reading the caller's array.
void check_component_count(std::size_t count, const char *what);

/// Throws FAILED_PRECONDITION, reason "callers_thread", if `operation` would run a callers_thread_only() function on a
/// thread of the library.
void check_any_thread(const Dataset &source, const char *operation);

/// A dataset made from another one. Throws FAILED_PRECONDITION if that is distributed.
class Transform : public Dataset {
  public:
    Transform(std::shared_ptr<const Dataset> source, std::vector<Spec> spec);
    const Dataset &source() const { return *source_; }
    Sources sources() const override { return {source_}; }
    /// Most transforms end where their source does.
    bool endless() const override { return source_->endless(); }
    bool borrows() const override { return source_->borrows(); }
    bool callers_thread_only() const override { return source_->callers_thread_only(); }

  protected:
    void read_from(const Sources &sources) { source_ = sources[0]; }

  private:
    std::shared_ptr<const Dataset> source_;
};

/// A stream of a transform, `Made`, over the stream of its source.
template <class Made>
class Stage : public Stream {
  public:
    Stage(std::shared_ptr<const Made> dataset, const Iteration &iteration)
        : Stream(iteration), dataset_(std::move(dataset)), upstream_(dataset_->source().open(iteration)) {}

  protected:
    void rewind() override { upstream_->restart(); }

    const std::shared_ptr<const Made> dataset_;
    const std::unique_ptr<Stream> upstream_;
};

/// A dataset made from several, none of them distributed.
class Combination : public Dataset {
  public:
    Combination(Sources sources, std::vector<Spec> spec);
    Sources sources() const override { return sources_; }
    bool borrows() const override;
    bool callers_thread_only() const override;

  protected:
    void read_from(const Sources &sources) { sources_ = sources; }
    std::vector<std::unique_ptr<Stream>> open_all(const Iteration &iteration) const;

  private:
    Sources sources_;
};

/// A dataset of class `Self` that is copied to be put over other sources. `Base` is a Transform or Combination. The
/// copy keeps its spec and is not checked again, so the elements of the other sources must look like those of the old
/// ones. A class whose members depend on its sources has a with_sources() of its own.
template <class Self, class Base = Transform>
class Rewritable : public Base {
  public:
    using Base::Base;
    std::shared_ptr<const Dataset> with_sources(const Sources &sources) const override {
        const auto other = std::make_shared<Self>(static_cast<const Self &>(*this));
        other->read_from(sources);
        return other;
    }
};

/// A dataset of class `Self` whose streams are of class `Run`.
template <class Self, class Run, class Base = Rewritable<Self>>
class Streamed : public Base {
  public:
    using Base::Base;
    std::unique_ptr<Stream> open(const Iteration &iteration) const override {
        return std::make_unique<Run>(this->self(static_cast<const Self &>(*this)), iteration);
    }
};

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
// Dataset: the description of elements, an immutable tree that grows by transforming. Stream: one run through it.
//
// Datasets may be used from any thread; a stream by one thread at a time. A stream keeps its dataset alive.
//
// A new source or transform is one file: a class derived from Dataset (Transform, if it has a source) that checks its
// arguments in the constructor and says what its elements look like; a class derived from Stream whose produce() gives
// the next element and whose rewind() makes it start again; and a make_ function in transforms.h or sources.h, which is
// all that others see. traits() and with_sources() serve those who explain it, deal it out, and know it again. What
// every stream must know (how to be told to stop, which orders shuffles take, who else takes elements) travels in
// Iteration, through open(), from the iterator down to the source. Several elements at a time, as of a parallel map,
// are that transform's own business: order counts.
//
// A position is saved as how many elements were taken, and restored by replay() of a new stream: so a stream has no
// state to save, but gives the same elements each time it is opened with the same Series. One that does not says so
// (Series::refuse).
//
// Rows of one block alone may go from stream to stream as numbers, many at a time: next_rows().
#pragma once

#include "data/element.h"
#include "data/series.h"

#include <mdist/dataset.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mdist {

/// A request to give up, seen by all streams below the one that makes it.
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

class Agreement; // distribute/deal.h

/// What an iteration tells every stream of it.
struct Iteration {
    std::shared_ptr<const Stop> stop; // may be null
    /// True once whoever lets go of the streams wants their threads to have ended by then; may be null.
    std::shared_ptr<const std::atomic<bool>> awaited;
    /// Counts corrupt records that were left out; may be null.
    std::shared_ptr<std::atomic<uint64_t>> skipped = nullptr;
    /// Of the orders that shuffles take; may be null.
    std::shared_ptr<Series> series = nullptr;
    /// Of a distributed dataset; null where this worker need ask nobody.
    std::shared_ptr<Agreement> agreement = nullptr;
    /// Receives everybody's rows in each element of a distributed dataset; may be null. The caller's thread alone.
    std::shared_ptr<StepRows> step_rows = nullptr;
};

class Stream {
  public:
    explicit Stream(const Iteration &iteration) : stop_(iteration.stop) {}
    virtual ~Stream() = default;
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;

    /// False after the last element, ever again, and when told to stop (whoever did that looks at no more elements).
    /// `out` is overwritten, or undefined at the end. After an exception nothing but destruction is allowed.
    bool next(Element &out) {
        if (ended_ || (stop_ != nullptr && stop_->requested())) return false;
        if (produce(out)) return true;
        ended_ = true;
        return false;
    }
    /// As `count` calls of next() whose elements nobody wants; `scratch` is overwritten. False at the end.
    bool pass_over(uint64_t count, Element &scratch) {
        if (ended_ || (stop_ != nullptr && stop_->requested())) return false;
        if (leave_out(count, scratch)) return true;
        ended_ = true;
        return false;
    }
    /// Past `count` elements that next() gave in an earlier run like this one: what a user's function made of them, or
    /// what they were checked for, is known to nobody and was all right. How many there were: fewer at the end only.
    uint64_t replay(uint64_t count, Element &scratch) {
        if (ended_ || (stop_ != nullptr && stop_->requested())) return 0;
        const uint64_t done = leap(count, scratch);
        ended_ = done < count;
        return done;
    }
    /// The one block of which every element is a row, from a stream that can also give the rows' numbers alone, many at
    /// a time: what costs little per element is worth neither a call nor an Element each. Null from others.
    virtual std::shared_ptr<const Block> block() const { return nullptr; }
    /// Of a stream with a block(): as up to `most` calls of next(), of which there is at least one; the rows' numbers
    /// into `rows`. How many there were: at least one, or none at the end.
    std::size_t next_rows(uint64_t *rows, std::size_t most) {
        if (ended_ || (stop_ != nullptr && stop_->requested())) return 0;
        const std::size_t count = produce_rows(rows, most);
        ended_ = count == 0;
        return count;
    }
    /// From the first element again, as the next epoch of the same iteration.
    void restart() {
        rewind();
        ended_ = false;
    }

  protected:
    /// Not called again once it has returned false.
    virtual bool produce(Element &out) = 0;
    virtual void rewind() = 0;
    /// For streams with a block(). Not called again once it has returned 0.
    virtual std::size_t produce_rows(uint64_t *, std::size_t) { return 0; }
    /// For streams that can do it without making the elements. Like produce(), not called again once it was false.
    virtual bool leave_out(uint64_t count, Element &scratch) {
        for (; count != 0; --count)
            if (!next(scratch)) return false;
        return true;
    }
    /// What replay() does, for streams that can do it without making the elements. Not called again once it has given
    /// fewer.
    virtual uint64_t leap(uint64_t count, Element &scratch) {
        uint64_t done = 0;
        while (done < count && next(scratch)) ++done;
        return done;
    }

  private:
    std::shared_ptr<const Stop> stop_;
    bool ended_ = false;
};

/// What is known of a component beforehand: type and rank always, dimensions unless kUnknown.
struct Spec {
    static constexpr uint64_t kUnknown = MDIST_ROWS; // as callers write it
    int32_t dtype = 0;
    Shape shape;
    std::string path = {}; // as the program named it; empty: not at all
    bool by_count = false; // dims[0] is known only from how many elements there are, and might else be smaller
};

/// Where each component lies in an element that is seen as one value: as all of them are named, else by its position;
/// "" if it is the only one.
std::vector<std::string> paths_of(const std::vector<Spec> &spec);

class Dataset;
using Sources = std::vector<std::shared_ptr<const Dataset>>;

/// What a dataset is to those who deal it out or explain it (distribute/plan.h).
struct Traits {
    enum class Role { kOrdinary, kReader, kShuffle, kShardHint };
    std::string text = "dataset"; // a line for people, with its arguments: "batch(4)"
    /// In place of the text in what positions are known by; "": it changes neither elements nor their order.
    std::optional<std::string> identity = {};
    Role role = Role::kOrdinary;
    std::optional<uint64_t> batch_size = {}; // its elements are that many others, but for the last
    bool keeps_batch_size = false;           // its elements have as many rows as those it is made from
    bool hides_files = false;                // auto-sharding does not look for files below it
};

class Dataset : public std::enable_shared_from_this<Dataset> {
  public:
    explicit Dataset(std::vector<Spec> spec) : paths_(paths_of(spec)), spec_(std::move(spec)) {}
    virtual ~Dataset() = default;
    Dataset(const Dataset &) = delete;
    Dataset &operator=(const Dataset &) = delete;

    virtual std::unique_ptr<Stream> open(const Iteration &iteration) const = 0;
    /// What of the workers and replicas the first `taken` elements of a distributed dataset depend on, in words that
    /// are the same on all workers; "" if nothing: as elements are global batches, say. A saved position is restored
    /// only where this says the same.
    virtual std::string layout([[maybe_unused]] uint64_t taken) const { return {}; }
    /// Number of elements, where known without producing them.
    virtual std::optional<uint64_t> size() const { return std::nullopt; }
    /// 0: elements are plain, one tensor per component. R: distributed over R local replicas; an element has R tensors
    /// for each component in turn.
    virtual std::size_t replica_count() const { return 0; }
    /// What an iteration of this takes along, made anew for each one.
    virtual std::shared_ptr<Agreement> agreement() const { return nullptr; }

    /// What it is made from.
    virtual Sources sources() const { return {}; }
    /// The same over others in place of sources(), with elements alike. It counts with this one what is counted
    /// (iterators of a shuffle), owns the same functions, and keeps nothing that came from the former sources (a
    /// cache).
    virtual std::shared_ptr<const Dataset> with_sources(const Sources &sources) const;
    virtual Traits traits() const { return {}; }
    /// What it is made of, all below it included, in a line: equal for datasets that give equal elements in one
    /// order, as far as can be told, and so without what changes neither (prefetch, names, distribution).
    virtual std::string description() const;
    /// Whether it certainly never ends, and has elements.
    virtual bool endless() const { return false; }

    /// Whether it uses the caller's memory or function without a way to tell when it needs them no more. Its streams
    /// then must have come to rest before they are gone; else threads of theirs may finish later.
    virtual bool borrows() const = 0;
    /// Whether some function of the caller's below may run on the thread alone that asks for elements.
    virtual bool callers_thread_only() const { return false; }

    const std::vector<Spec> &spec() const { return spec_; }
    const std::vector<std::string> &paths() const { return paths_; }
    std::size_t component_count() const { return spec_.size(); }

  protected:
    /// A reference for a stream of `dataset`.
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

/// Throws INVALID_ARGUMENT for none, and for more than anyone means (before anything is read from a caller's array).
void check_component_count(std::size_t count, const char *what);

/// Throws FAILED_PRECONDITION, reason "callers_thread", before `operation` would run such a function on a thread of the
/// library.
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

  private:
    std::shared_ptr<const Dataset> source_;
};

/// A dataset made from several, none of them distributed.
class Combination : public Dataset {
  public:
    Combination(Sources sources, std::vector<Spec> spec);
    Sources sources() const override { return sources_; }
    bool borrows() const override;
    bool callers_thread_only() const override;

  protected:
    std::vector<std::unique_ptr<Stream>> open_all(const Iteration &iteration) const;

  private:
    Sources sources_;
};

} // namespace mdist

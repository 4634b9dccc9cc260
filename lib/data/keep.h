// SPDX-License-Identifier: Apache-2.0
// keep: lets an iterator go back to an earlier element without reading again. KeptInput holds the source's stream of
// one iteration, and references to what it gave. A stream of the dataset reads what is kept, and then goes on with the
// source. So the streams above it may be opened anew, and cut the elements in another way.
//
// Positions count elements of the source. One that is forgotten cannot be reached: the stream fails, and the caller
// makes a new iteration instead.
#pragma once

#include "data/transforms.h"
#include "util/function_ref.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

namespace mdist {

/// What one iteration has kept. Any thread: a stream that is replaced may still be taking an element on a thread of its
/// own. That element is kept as well, so none is lost.
class KeptInput {
  public:
    explicit KeptInput(uint64_t most_bytes) : most_bytes_(most_bytes) {}

    /// What the source's stream sees, instead of a request by a stream above it.
    const std::shared_ptr<Stop> &stop() const { return stop_; }
    /// Whether the source has not failed.
    bool usable() const;

    /// Begins to read from the first element. `open` makes the source's stream; it is called the first time. Returns
    /// the reader's number. The reader before gets no more elements.
    uint64_t begin_reading(FunctionRef<std::unique_ptr<Stream>()> open);
    /// Gets the element at `position`, kept or taken from the source. False at the end, and for a former reader.
    bool take(uint64_t reader, uint64_t position, Element &out);
    /// Goes from `position` over `count` elements. Returns over how many: fewer only at the end.
    uint64_t pass(uint64_t reader, uint64_t position, uint64_t count, Element &scratch);
    /// Nobody will ask for elements before `position`. Waits for nobody.
    void forget_before(uint64_t position);

  private:
    void require(uint64_t position) const;
    void drop_first();
    void drop_old();

    const uint64_t most_bytes_;
    const std::shared_ptr<Stop> stop_ = std::make_shared<Stop>(nullptr);
    std::atomic<uint64_t> oldest_{0}; // of the elements that somebody may ask for
    mutable std::mutex mutex_;        // guards the rest; held while the source makes an element
    std::unique_ptr<Stream> source_;
    uint64_t reader_ = 0;
    std::deque<Element> elements_;
    uint64_t first_ = 0; // position of elements_[0]
    uint64_t bytes_ = 0;
    bool failed_ = false; // the source cannot be used any more
};

/// Makes a dataset of the same elements. It keeps them if the iteration has a KeptInput. A dataset has one at most.
std::shared_ptr<Dataset> make_keep(Source source);

} // namespace mdist

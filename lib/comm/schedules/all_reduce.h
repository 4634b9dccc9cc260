// SPDX-License-Identifier: Apache-2.0
// AllReduce: all-reduces large data over a link, with a direct-exchange reduce-scatter and all-gather, chunk by chunk.
//
// Worker w owns segment w of the row. Every worker sends each owner the partials of the owner's segment. Then, as they
// become ready, it sends the results of its own segment. So peer p gets first all chunks of p's segment, then all
// chunks of the worker's own. The network is busy all the time, because results are ready as soon as the last partials
// have gone.
//
// For a row that scatters (ReduceRow::scatters), the segments are the workers' parts, and only the first half is done.
//
//   Memory: scratch for at most kWindow chunks per peer and direction, and none for data that already stands in a
//   buffer. Results go to the outputs at once, whether or not peers have taken them: no receive depends on a send, so
//   no two workers can wait for each other.
//
//   In place: only its results overwrite the bytes of a peer's segment, and the peer has made them from the very
//   partials that were sent from there. Nobody else needs the bytes of a worker's own segment.
#pragma once

#include "comm/call/reduce_row.h"
#include "comm/links/link.h"
#include "comm/schedules/peer_stream.h"
#include "comm/schedules/schedule.h"
#include "comm/schedules/scratch.h"

#include <cstdint>
#include <vector>

namespace mdist {

class AllReduce final : public Schedule {
  public:
    /// The link's parties are the workers of row.cut(). The schedule uses the low 32 bits of `tag`. `chunk_elements` 0
    /// chooses the best chunk for this size. All workers must pass the same value. With kBehindHeaders, it only sends
    /// until begin().
    AllReduce(Link &link, uint64_t tag, const ReduceRow &row, Scratch &scratch, Start start = Start::kNow,
              uint64_t chunk_elements = 0);

    /// All peers have told that they are in the same operation: now what they send may be received.
    void begin();
    bool advance() override;

  private:
    static constexpr uint32_t kWindow = PeerStream::kWindow;

    struct Peer {
        uint32_t rank;
        PeerStream out;
        PeerStream in;
    };

    void cut_into_segments();
    uint64_t longest_segment() const;
    void lay_out(Scratch &scratch);
    uint64_t chunks(uint32_t worker) const;
    Range chunk(uint32_t worker, uint64_t index) const;

    bool step();
    bool combine_next();
    bool take_results(Peer &peer);
    bool post_receives(Peer &peer);
    bool post_sends(Peer &peer);
    void post_partials(Peer &peer, uint64_t index, char *scratch, Pending &pending);
    void post_results(Peer &peer, uint64_t index, char *scratch, Pending &pending);
    void combine(const Range &range, uint64_t index);

    Link &link_;
    const uint64_t tag_;
    const ReduceRow &row_;
    const std::size_t element_size_;
    std::vector<uint64_t> segments_; // where each begins, and where the last one ends
    uint64_t chunk_elements_;
    std::size_t slot_bytes_ = 0;
    char *own_ = nullptr;    // this worker's partials of a chunk
    char *result_ = nullptr; // results of a chunk
    std::vector<Peer> peers_;
    std::vector<const void *> partials_; // by subtree of the cut
    uint64_t combined_ = 0;              // chunks of the own segment that are combined
    bool begun_ = false;
};

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
// All-reduce of large data over a link: a direct-exchange reduce-scatter and all-gather, chunk by chunk.
//
// Worker w owns segment w of the row. Every worker sends each owner the partials of the owner's segment, and then, as
// they come to be, the results of its own: to peer p first all chunks of p's segment, then all of its own. The wires
// are busy all the time, because results are there as soon as the last partials have gone.
//
// For a row that scatters (Flat::scatters) segments are the workers' parts, and it ends with the first half.
//
//   Memory: scratch for kWindow chunks per peer and direction at most, none of it where what is sent or received stands
//   in a buffer already. Results go to the outputs at once, whoever may take them when: nobody's taking depends on
//   somebody's sending, and so no two can wait for each other.
//
//   In place: the bytes of a peer's segment are written by its results alone, which it has made of the very partials
//   that were sent from there; those of the own segment nobody else needs.
#pragma once

#include "comm/flat.h"
#include "comm/links/link.h"
#include "comm/schedules/schedule.h"
#include "comm/schedules/scratch.h"
#include "comm/schedules/peer_stream.h"

#include <cstdint>
#include <vector>

namespace mdist {

class AllReduce final : public Schedule {
  public:
    /// The link's parties are the workers of flat.cut(). The low 32 bits of `tag` are the schedule's. 0 elements of a
    /// chunk: as many as are best for this size; all workers give the same.
    AllReduce(Link &link, uint64_t tag, const Flat &flat, Scratch &scratch, uint64_t chunk_elements = 0);

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
    const Flat &flat_;
    const std::size_t element_size_;
    std::vector<uint64_t> segments_; // where they begin, and where the last one ends
    uint64_t chunk_elements_;
    std::size_t slot_bytes_ = 0;
    char *own_ = nullptr;    // this worker's partials of a chunk
    char *result_ = nullptr; // of a chunk
    std::vector<Peer> peers_;
    std::vector<const void *> partials_; // by subtree of the cut
    uint64_t combined_ = 0;              // chunks of the own segment
};

} // namespace mdist

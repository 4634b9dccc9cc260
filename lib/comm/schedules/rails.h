// SPDX-License-Identifier: Apache-2.0
// Rails: all-reduces large data when each of several hosts has several workers. The bytes that cross between hosts are
// those that one worker per host would send, shared among all workers of the host. No byte crosses twice.
//
// Worker w of a host is on rail w, together with the workers in the same place on the other hosts. The row is cut into
// a segment for each rail, and each segment into a part for each host. For every chunk of its rail's segment, a worker
//
//   reduces    its host's replicas: it merges its mates' partials and its own into partials of the subtrees that lie
//              completely on the host, and sends them along the rail to the worker that owns the part;
//   combines   every host's partials of its own part into results, and sends those along the rail;
//   passes on  the results of the segment to its mates: its own, and those that came along the rail.
//
// All workers of a host take a segment's chunks in the same order: the first chunk of each part, the host's own part
// last; then the second chunk of each part, and so on. Each peer gets first all partials, then all results, as in
// AllReduce, the plain schedule that gives the same results.
//
//   Memory: scratch for a window of chunks per peer and direction, and one window of the host's partials of its own
//   part. Results go to the outputs at once and are passed on from there, so no receive of results depends on a send.
//   Reducing a chunk waits for three things: the mates' partials of it, room towards its owner, and the combining of
//   chunks one window earlier. All of them come earlier in the order above, so no two workers can wait for each other.
//
//   In place: the results of a range arrive only after everything that was made from its inputs on this worker has been
//   used up.
#pragma once

#include "comm/call/reduce_row.h"
#include "comm/links/link.h"
#include "comm/schedules/peer_stream.h"
#include "comm/schedules/schedule.h"
#include "comm/schedules/scratch.h"

#include <cstdint>
#include <vector>

namespace mdist {

class Rails final : public Schedule {
  public:
    /// The link's parties are the workers of row.cut(): `per_host` on each host, with consecutive ranks. The row must
    /// not scatter. The schedule uses the low 32 bits of `tag`. `chunk_elements` 0 chooses the best chunk for this
    /// size. All workers must pass the same value. With kBehindHeaders, it only sends until begin().
    Rails(Link &link, uint64_t tag, const ReduceRow &row, uint32_t per_host, Scratch &scratch,
          Start start = Start::kNow, uint64_t chunk_elements = 0);

    /// All peers have told that they are in the same operation: now what they send may be received.
    void begin();
    bool advance() override;

  private:
    static constexpr uint32_t kWindow = PeerStream::kWindow;

    /// A chunk of a rail's segment.
    struct Piece {
        uint32_t host;  // the host whose part it belongs to
        uint64_t index; // in that part
        Range range;
    };
    struct Peer {
        uint32_t rank;
        uint32_t host;
        uint32_t rail;
        PeerStream out;
        PeerStream in;
    };

    uint64_t part_begin(uint32_t host, uint32_t rail) const;
    uint64_t chunks(uint32_t host, uint32_t rail) const;
    Range chunk(uint32_t host, uint32_t rail, uint64_t index) const;
    std::vector<Piece> pieces_of(uint32_t rail) const;
    void lay_out(Scratch &scratch);
    Peer peer_of(uint32_t host, uint32_t rail) const;

    bool is_mate(const Peer &peer) const { return peer.host == host_; }
    Peer &along(uint32_t host) { return rails_[(host + hosts_ - host_) % hosts_ - 1]; }
    /// The range of the index-th result that this worker gives to a peer, or gets from it.
    Range given(const Peer &peer, uint64_t index) const;
    Range got(const Peer &peer, uint64_t index) const;
    bool has_result(const Peer &peer, uint64_t index);
    std::size_t incoming_bytes(const Peer &peer, uint64_t message) const;

    bool step();
    bool reduce_next();
    void reduce(const Range &range, char *to);
    bool combine_next();
    bool take_results(Peer &peer);
    bool post_receive(Peer &peer);
    bool post_send(Peer &peer);
    void post_partials(Peer &peer, char *scratch, Pending &pending);
    void post_results(Peer &peer, const Range &range, char *scratch, Pending &pending);

    Link &link_;
    const uint64_t tag_;
    const ReduceRow &row_;
    const uint32_t per_host_;
    const uint32_t hosts_;
    const uint32_t host_;
    const uint32_t rail_;
    const reduce::Cut cut_; // by host, as row_.cut() is by worker
    const std::size_t element_size_;
    const std::size_t partial_size_; // of partials between hosts
    const uint64_t part_elements_;   // of the longest part
    uint64_t chunk_elements_;
    std::vector<std::vector<Piece>> pieces_; // by rail, in the order of this host
    std::vector<Peer> mates_;
    std::vector<Peer> rails_; // beginning with the next host

    std::size_t slot_bytes_ = 0;
    char *own_ = nullptr;                     // this worker's partials of a chunk
    char *result_ = nullptr;                  // results of a chunk
    char *kept_ = nullptr;                    // this host's partials of a window of chunks of the own part
    std::vector<const void *> partials_;      // by subtree of row_.cut()
    std::vector<const void *> host_partials_; // by subtree of cut_
    uint64_t reduced_ = 0;                    // pieces of the own segment that are reduced
    uint64_t kept_count_ = 0;                 // of these, the chunks of the own part
    uint64_t combined_ = 0;                   // chunks of the own part that are combined
    bool begun_ = false;
};

} // namespace mdist

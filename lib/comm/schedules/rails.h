// SPDX-License-Identifier: Apache-2.0
// Rails: all-reduce of large data where each of several hosts has several workers. What crosses between hosts is what
// one worker per host would send, shared out among all of them: the wires carry no byte twice.
//
// Worker w of a host is on rail w, with the workers of that place on the other hosts. The row is cut into a segment for
// each rail, and each segment into a part for each host. For every chunk of its rail's segment, a worker
//
//   reduces    its host's replicas: from its mates' partials and its own to those of the subtrees that lie whole on the
//              host, and sends them along the rail to the worker that owns the part;
//   combines   every host's partials of its own part to results, which it sends along the rail;
//   passes on  results of the segment, its own and those that came along the rail, to its mates.
//
// A segment's chunks go in one order on all of a host: the first chunk of each part, the host's own last, then the
// second of each ... To every peer first all partials, then all results, as in AllReduce, which is the plain twin.
//
//   Memory: scratch for a window of chunks per peer and direction, and one of the host's partials of the own part.
//   Results go to the outputs at once and are passed on from there, so nobody's taking of them depends on somebody's
//   sending. Reducing a chunk waits for mates' partials of it, for room towards its owner and for the combining of
//   chunks that lie a window before: always for what comes earlier in that order, so no two can wait for each other.
//
//   In place: a range's results come only after everything made of its inputs on this worker has been used up.
#pragma once

#include "comm/flat.h"
#include "comm/links/link.h"
#include "comm/schedules/schedule.h"
#include "comm/schedules/scratch.h"
#include "comm/schedules/peer_stream.h"

#include <cstdint>
#include <vector>

namespace mdist {

class Rails final : public Schedule {
  public:
    /// The link's parties are the workers of flat.cut(), `per_host` on each host, with ranks in a row. Not for a row
    /// that scatters. The low 32 bits of `tag` are the schedule's. 0 elements of a chunk: as many as are best for this
    /// size; all workers give the same.
    Rails(Link &link, uint64_t tag, const Flat &flat, uint32_t per_host, Scratch &scratch, uint64_t chunk_elements = 0);

    bool advance() override;

  private:
    static constexpr uint32_t kWindow = PeerStream::kWindow;

    /// A chunk of a rail's segment.
    struct Piece {
        uint32_t host;  // whose part it is of
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
    /// What the index-th result that this worker gives to, or gets from, a peer is of.
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
    const Flat &flat_;
    const uint32_t per_host_;
    const uint32_t hosts_;
    const uint32_t host_;
    const uint32_t rail_;
    const reduce::Cut cut_; // by hosts, as flat_.cut() is by workers
    const std::size_t element_size_;
    const std::size_t partial_size_; // between hosts
    const uint64_t part_elements_;   // of the longest part
    uint64_t chunk_elements_;
    std::vector<std::vector<Piece>> pieces_; // by rail, in the order of this host
    std::vector<Peer> mates_;
    std::vector<Peer> rails_; // from the next host on

    std::size_t slot_bytes_ = 0;
    char *own_ = nullptr;                     // this worker's partials of a chunk
    char *result_ = nullptr;                  // of a chunk
    char *kept_ = nullptr;                    // this host's partials of a window of chunks of the own part
    std::vector<const void *> partials_;      // by subtree of flat_.cut()
    std::vector<const void *> host_partials_; // by subtree of cut_
    uint64_t reduced_ = 0;                    // pieces of the own segment
    uint64_t kept_count_ = 0;                 // of these, chunks of the own part
    uint64_t combined_ = 0;                   // chunks of the own part
};

} // namespace mdist

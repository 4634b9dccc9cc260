// SPDX-License-Identifier: Apache-2.0
// FixedStore: the store of a job of fixed size. Its one generation begins when all workers have joined, and ends when
// one of them is lost or leaves. The store then closes its connections with all workers. Only those that are not READY
// mind: they join again. So a job that is started again can use the same store.
//
// A worker that comes while there is a generation is stale; one that comes later belongs to the next. A worker that
// leaves and comes back at once may arrive before the end of its old connection. So a worker that comes during a
// generation waits kLateNs for its end before it is refused. One thread at a time.
#pragma once

#include "membership/store/store.h"

namespace mdist {

/// Longer than the kernel waits before it sends a lost packet again.
inline constexpr uint64_t kLateNs = 300'000'000;

struct FixedStoreOptions {
    uint32_t size = 1;
    uint32_t restart = 0;
    std::string job;
    std::string secret;
};

class FixedStore final : public Store {
  public:
    FixedStore(World &world, FixedStoreOptions options);

    std::size_t wanted(ConnectionId connection) const override;
    void received(ConnectionId connection, std::string_view bytes) override;
    void closed(ConnectionId connection, int error) override;
    void tick() override;
    uint64_t next_tick_ns() const override;

    /// Waits for the workers of the next start, and sends those of the start before away. Throws INVALID_ARGUMENT
    /// unless `restart` is larger than before.
    void restart(uint32_t size, uint32_t restart);
    std::vector<uint32_t> missing() const;
    /// "2 of 4 workers have joined; missing: 1, 3 (refused: ...)"
    std::string progress() const override;
    uint32_t joined() const override { return static_cast<uint32_t>(workers_.size()); }
    /// The worker whose goodbye ended the last generation. MDIST_NONE if it ended otherwise, or once there is a new
    /// one.
    uint32_t first_gone() const { return first_gone_; }

  private:
    /// A worker that came while there was a generation.
    struct Late {
        Guest guest;
        Joining joining;
        uint64_t until_ns;
    };
    void join(Guest guest, Joining joining) override;
    void heard(ConnectionId connection, Worker &worker, const ControlFrame &frame) override;
    void lost(const Worker &worker) override;
    void look() override;
    std::optional<Failure> not_of_this_start(const Guest &guest) const;
    std::optional<Failure> objection(uint32_t rank, const Joining &joining) const;
    void note_refused(uint32_t rank, const std::string &why);
    void refuse_guest(Guest &guest, const Failure &failure);
    void keep_waiting(Guest guest, Joining joining);
    void refuse_late(Guest &guest, const Joining &joining);
    void send_away_who_differs(const Joining &chief);
    const Worker *worker(uint32_t rank) const;
    std::optional<Failure> split_by_loopback() const;
    void begin_generation();
    Excerpt excerpt_for(uint32_t rank) const;
    void go_on_without(uint32_t rank, uint32_t gone);
    void end_generation(const std::string &why, uint32_t gone);
    void tell_progress_soon();

    FixedStoreOptions options_;
    uint32_t first_gone_ = MDIST_NONE;
    std::map<ConnectionId, Late> late_;       // in the order they came; empty while OPEN
    std::map<uint32_t, std::string> refused_; // by the claimed rank: why it was last refused
    uint64_t tell_progress_ns_ = UINT64_MAX;
};

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
// PMI client: lets one worker of a job started by Hydra send a text to all others. Each process asks the proxy that
// started it, in version 1 of the PMI text protocol ("cmd=get key=...\n", and one line back). Only the needed requests
// are here. One thread; every wait ends at the deadline set in the constructor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mdist {

class PmiClient {
  public:
    /// `fd`: a stream socket that the caller owns. All requests together take at most `timeout_ns`.
    PmiClient(int fd, std::uint64_t timeout_ns);

    /// Begin and end the use of PMI. Only for a process without an MPI library, which calls both itself. After the
    /// first request, Hydra takes a process that ends without finalize() for failed. After finalize() no request is
    /// allowed.
    void init();
    void finalize();

    /// Returns the `value` that worker 0 passes for this key. Collective over all workers of the job; the others pass
    /// "". A key can be used once. Neither key nor value may hold spaces.
    std::string share(std::uint32_t rank, std::string_view key, std::string_view value);

  private:
    /// Sends one line and returns the answer, whose cmd must be `reply`. Throws TIMEOUT, IO, PEER_LOST.
    std::string ask(std::string_view request, std::string_view reply);
    void send_line(std::string line);
    std::string receive_line();
    void wait_for(short events);

    int fd_;
    std::uint64_t deadline_ns_;
};

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
// PMI client: version 1 of the text by which Hydra's processes ask the proxy that started them ("cmd=get key=...\n" and
// one line back), as far as one worker needs it to tell the others something. One thread; every wait ends with the
// deadline that was given at first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mdist {

class PmiClient {
  public:
    /// A stream socket, which stays the caller's. Everything together takes at most `timeout_ns`.
    PmiClient(int fd, std::uint64_t timeout_ns);

    /// For a process whose MPI library does not do both: after the first request, one that ends without finalize has
    /// failed in Hydra's eyes, and after it nothing may be asked any more.
    void init();
    void finalize();

    /// Collective over all workers of the job: what worker 0 gives as `value` (others give "") under this key, which
    /// can be used once. Neither may hold spaces.
    std::string share(std::uint32_t rank, std::string_view key, std::string_view value);

  private:
    /// One line there and one back, which has to begin with "cmd=`reply`". Throws TIMEOUT, IO, PEER_LOST.
    std::string ask(std::string_view request, std::string_view reply);
    void send_line(std::string line);
    std::string receive_line();
    void wait_for(short events);

    int fd_;
    std::uint64_t deadline_ns_;
};

} // namespace mdist

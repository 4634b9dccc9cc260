// SPDX-License-Identifier: Apache-2.0
#include "cluster/settle_store.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <system_error>

#include "cluster/launcher.h"
#include "cluster/pmi_client.h"
#include "util/failure.h"
#include "util/text.h"

namespace mdist {

namespace {

[[noreturn]] void refuse_port(std::string_view what, int code) {
    throw Failure(MDIST_ERR_RESOURCE,
                  text("cannot ", what, " a port for the store: ", std::generic_category().message(code)))
        .reason("store_port")
        .native(code);
}

/// The answer for this process. PMI can be asked only once per job, so every later strategy meets where the first did.
struct Settled {
    std::mutex mutex; // held no longer than one exchange may take
    bool was_tried = false;
    std::string store;  // "" after a failure
    std::string secret; // "" for none
    std::unique_ptr<ReservedPort> port;
};

Settled &settled() {
    static Settled once;
    return once;
}

/// Whether the process has an MPI library. It uses the same socket, and calls init and finalize itself.
bool process_has_mpi() {
    return dlsym(RTLD_DEFAULT, "MPI_Init") != nullptr;
}

/// Separates the address from the secret.
constexpr char kMark = ',';

void exchange(Settled &once, const Resolved &resolved, const Environment &environment, std::uint64_t timeout_ns,
              const std::string &secret) {
    once.was_tried = true;
    bool one_host = resolved.local_size == resolved.size;
    std::string own;
    if (resolved.rank == 0) {
        once.port = std::make_unique<ReservedPort>(one_host);
        std::string host = one_host ? "127.0.0.1" : reachable_address(environment);
        if (host.empty()) refuse_port("find an address for", EADDRNOTAVAIL);
        own = store_address(host, once.port->number());
        if (!secret.empty()) own += kMark + secret;
    }
    Variables variables(environment);
    PmiClient client(static_cast<int>(variables.need_count("PMI_FD")), timeout_ns);
    bool is_ours = !process_has_mpi();
    if (is_ours) client.init();
    std::string shared = client.share(resolved.rank, "mdist-store", own);
    if (is_ours) client.finalize();
    const std::size_t mark = std::min(shared.find(kMark), shared.size());
    once.store = shared.substr(0, mark);
    if (mark < shared.size()) once.secret = shared.substr(mark + 1);
}

} // namespace

ReservedPort::ReservedPort(bool only_this_host) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int fd = socket_.get();
    if (fd < 0) refuse_port("open", errno);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(only_this_host ? INADDR_LOOPBACK : INADDR_ANY);
    socklen_t length = sizeof address;
    auto *generic = reinterpret_cast<sockaddr *>(&address);
    int yes = 1;
    if (::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 || ::bind(fd, generic, length) != 0 ||
        ::getsockname(fd, generic, &length) != 0)
        refuse_port("reserve", errno);
    number_ = ntohs(address.sin_port);
}

void settle_store(Resolved &resolved, const Environment &environment, std::uint64_t timeout_ns,
                  const std::string &secret) {
    if (!resolved.store_by_pmi) return;
    Settled &once = settled();
    const std::lock_guard lock(once.mutex);
    if (!once.was_tried) exchange(once, resolved, environment, timeout_ns, secret);
    if (once.store.empty())
        throw Failure(
            MDIST_ERR_FAILED_PRECONDITION,
            "the workers of this job failed earlier to find a store by PMI. Start the job again, or pass MDIST_STORE")
            .reason("pmi");
    resolved.store = once.store;
    resolved.secret = once.secret;
}

} // namespace mdist

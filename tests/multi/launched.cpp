// SPDX-License-Identifier: Apache-2.0
// A worker for launchers to start. It prints one line of JSON with what it found about its place in the job. With an
// argument, it does not settle the store's address.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "cluster/resolve.h"
#include "cluster/settle_store.h"
#include "util/failure.h"

using namespace mdist;

namespace {

/// Tells whether rank 0 could listen there, as the store will.
bool can_listen(const std::string &store) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(store.substr(store.rfind(':') + 1).c_str())));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    bool good = fd >= 0 && inet_pton(AF_INET, store.substr(0, store.rfind(':')).c_str(), &address.sin_addr) == 1 &&
                setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
                bind(fd, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0 && listen(fd, 1) == 0;
    close(fd);
    return good;
}

void find_and_print(bool settles) {
    Config config;
    config.load_environment();
    Resolved found = resolve(config, process_environment());
    if (settles) settle_store(found, process_environment(), 30'000'000'000, "told-by-PMI-alone");
    bool listens = !found.serves_store || !settles || can_listen(found.store);
    std::printf(
        "{\"source\": \"%s\", \"rank\": %u, \"size\": %u, \"local_rank\": %d, \"local_size\": %d, "
        "\"store\": \"%s\", \"serves\": %d, \"listens\": %d, \"job\": \"%s\", \"secret\": \"%s\"}\n",
        found.source.c_str(), found.rank, found.size, found.local_rank ? static_cast<int>(*found.local_rank) : -1,
        found.local_size ? static_cast<int>(*found.local_size) : -1, found.store.c_str(), found.serves_store, listens,
        found.job.c_str(), found.secret.c_str());
}

} // namespace

int main(int argc, char **) {
    try {
        find_and_print(argc == 1);
    } catch (const Failure &failure) {
        std::fprintf(stderr, "%s: %s\n", failure.reason().c_str(), failure.what());
        return 3;
    }
    return 0;
}

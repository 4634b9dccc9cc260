// SPDX-License-Identifier: Apache-2.0
#include "launch/store.h"

#include "descriptor.h"

#include <cerrno>
#include <system_error>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace mdist {
namespace {

/// One that is free now.
uint16_t free_port() {
    const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    socklen_t length = sizeof address;
    auto *generic = reinterpret_cast<sockaddr *>(&address);
    if (bind(socket.get(), generic, length) != 0 || getsockname(socket.get(), generic, &length) != 0)
        throw std::system_error(errno, std::generic_category(), "no free port");
    return ntohs(address.sin_port);
}

} // namespace

JobStore::JobStore(const JobStoreOptions &options) : address_(options.address) {
    if (address_.ends_with(":0")) address_ = address_.substr(0, address_.size() - 1) + std::to_string(free_port());
}

} // namespace mdist

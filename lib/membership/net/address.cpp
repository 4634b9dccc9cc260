// SPDX-License-Identifier: Apache-2.0
#include "membership/net/address.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>

#include "membership/net/descriptors.h"
#include "util/clock.h"
#include "util/failure.h"
#include "util/long_wait.h"
#include "util/text.h"
#include "util/thread.h"
#include "util/utf8.h"

namespace mdist {
namespace {

constexpr auto kBetweenQuestions = std::chrono::milliseconds(500);

/// A name to resolve. The waiting thread and the asking thread share it, and the last of them frees it.
struct Question {
    std::string host;
    std::mutex lock;
    std::condition_variable answered;
    bool done = false;
    int result = 0;
    std::vector<Endpoint> found;
};

std::vector<Endpoint> numeric_of(const addrinfo *list) {
    std::vector<Endpoint> found;
    for (; list != nullptr; list = list->ai_next) {
        SocketAddress address;
        address.length = list->ai_addrlen;
        std::memcpy(&address.storage, list->ai_addr, list->ai_addrlen);
        const Endpoint endpoint = endpoint_of(address);
        if (std::find(found.begin(), found.end(), endpoint) == found.end()) found.push_back(endpoint);
    }
    return found;
}

void *ask(void *argument) {
    const std::unique_ptr<std::shared_ptr<Question>> kept(static_cast<std::shared_ptr<Question> *>(argument));
    Question &question = **kept;
    addrinfo hints = {};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo *list = nullptr;
    const int result = getaddrinfo(question.host.c_str(), nullptr, &hints, &list);
    const std::lock_guard<std::mutex> hold(question.lock);
    question.result = result;
    try {
        question.found = numeric_of(list);
    } catch (const std::bad_alloc &) {
        question.result = EAI_MEMORY;
    }
    if (list != nullptr) freeaddrinfo(list);
    question.done = true;
    question.answered.notify_all();
    return nullptr;
}

std::shared_ptr<Question> start_asking(const std::string &host) {
    auto question = std::make_shared<Question>();
    question->host = host;
    auto kept = std::make_unique<std::shared_ptr<Question>>(question);
    pthread_t thread;
    if (const int failed = start_thread(&thread, ask, kept.get(), "mdist-resolve"))
        throw Failure(MDIST_ERR_RESOURCE, text("cannot start a thread to resolve a name: ", std::strerror(failed)))
            .native(failed);
    static_cast<void>(kept.release()); // the thread owns it now
    pthread_detach(thread);
    return question;
}

/// Throws bad_alloc if that is what a function of the name service failed for.
void check_memory(int result) {
    if (result == EAI_MEMORY || (result == EAI_SYSTEM && errno == ENOMEM)) throw std::bad_alloc();
}

/// Whether the answer may be another one later. A name may appear late, such as that of a pod.
bool may_change(int result) {
    return result == EAI_AGAIN || result == EAI_NONAME || result == EAI_NODATA;
}

} // namespace

bool is_link_local(const std::string &host) {
    in6_addr numeric;
    return inet_pton(AF_INET6, host.substr(0, host.find('%')).c_str(), &numeric) == 1 &&
           IN6_IS_ADDR_LINKLOCAL(&numeric);
}

Endpoint split_address(const std::string &address) {
    const auto bad = [&] {
        return Failure(MDIST_ERR_CONFIG,
                       text(in_quotes(address), " is not a valid address; write host:port or [ipv6]:port"))
            .reason("bad_address");
    };
    const std::size_t colon = address.rfind(':');
    if (colon == std::string::npos) throw bad();
    std::string host = address.substr(0, colon);
    const std::string port = address.substr(colon + 1);
    if (host.size() >= 2 && host.front() == '[' && host.back() == ']')
        host = host.substr(1, host.size() - 2);
    else if (host.find(':') != std::string::npos)
        throw bad();
    const bool digits = !port.empty() && port.size() <= 5 &&
                        std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
    const unsigned long number = digits ? std::stoul(port) : 65536;
    if (host.empty() || number > 65535) throw bad();
    if (is_link_local(host) && host.find('%') == std::string::npos)
        throw Failure(MDIST_ERR_CONFIG, text(in_quotes(address),
                                             " is a link-local address without the network "
                                             "interface that it belongs to; write it as in [fe80::1%eth0]:4400"))
            .reason("bad_address");
    return {host, static_cast<uint16_t>(number)};
}

namespace {

/// Waits for the answer. Returns whether it came by the deadline.
bool answered(Question &question, std::unique_lock<std::mutex> &hold, std::chrono::steady_clock::time_point deadline,
              LongWait &long_wait, LongWait::Describe describe) {
    const auto done = [&] { return question.done; };
    for (;;) {
        constexpr uint64_t kLongestNs = uint64_t{1} << 60;
        const auto slice = std::chrono::nanoseconds(std::min(long_wait.slice_ns(), kLongestNs));
        const auto end = std::min(deadline, std::chrono::steady_clock::now() + slice);
        if (question.answered.wait_until(hold, end, done)) return true;
        if (end == deadline) return false;
        long_wait.look(describe);
    }
}

} // namespace

std::vector<Endpoint> resolve(const Endpoint &named, uint64_t timeout_ns) {
    const Clock &clock = monotonic_clock();
    const uint64_t begun = clock.now_ns();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout_ns);
    LongWait long_wait(begun);
    std::string why = "the name service has not answered";
    const auto describe = [&]() -> WaitText {
        return {"this worker", "mdist_strategy_create",
                text("an address of the host ", in_quotes(named.host), ", and asks again: ", why)};
    };
    const auto unresolved = [&] {
        return Failure(MDIST_ERR_NOT_FOUND, text("the host name ", in_quotes(named.host), " cannot be resolved: ", why,
                                                 "; tried for ", waited_text(clock.now_ns() - begun)))
            .reason("name_resolution");
    };
    for (;;) {
        const auto question = start_asking(named.host);
        std::unique_lock<std::mutex> hold(question->lock);
        if (!answered(*question, hold, deadline, long_wait, describe)) throw unresolved();
        check_memory(question->result);
        if (question->result == 0) {
            auto found = question->found;
            for (Endpoint &endpoint : found) endpoint.port = named.port;
            return found;
        }
        why = gai_strerror(question->result);
        const auto again = std::chrono::steady_clock::now() + kBetweenQuestions;
        if (again >= deadline || !may_change(question->result)) throw unresolved();
        question->answered.wait_until(hold, again, [] { return false; });
        long_wait.look(describe);
    }
}

SocketAddress socket_address(const Endpoint &numeric) {
    addrinfo hints = {};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    addrinfo *list = nullptr;
    const std::string port = std::to_string(numeric.port);
    const int result = getaddrinfo(numeric.host.c_str(), port.c_str(), &hints, &list);
    check_memory(result);
    if (result != 0) throw Failure(MDIST_ERR_INTERNAL, text(in_quotes(numeric.host), " is not a numeric address"));
    SocketAddress address;
    address.length = list->ai_addrlen;
    std::memcpy(&address.storage, list->ai_addr, list->ai_addrlen);
    freeaddrinfo(list);
    return address;
}

Endpoint endpoint_of(const SocketAddress &address) {
    char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "0";
    check_memory(getnameinfo(address.get(), address.length, host, sizeof host, port, sizeof port,
                             NI_NUMERICHOST | NI_NUMERICSERV));
    return {host, static_cast<uint16_t>(std::strtoul(port, nullptr, 10))};
}

Endpoint local_endpoint(int descriptor) {
    SocketAddress address;
    address.length = sizeof address.storage;
    checked(getsockname(descriptor, address.get(), &address.length), "read the address of a socket");
    return endpoint_of(address);
}

Endpoint remote_endpoint(int descriptor) {
    SocketAddress address;
    address.length = sizeof address.storage;
    checked(getpeername(descriptor, address.get(), &address.length), "read the other side's address of a socket");
    return endpoint_of(address);
}

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
// Measures the constants of the simulated job (tests/sim/costs/model.h) on this machine, in nanoseconds:
//     costs_bench
// Each is the median of kRounds. Two threads, pinned to two processors, stand for two workers. Their connection is TCP
// over loopback, so what the system does for a network's driver is not in it.
#include "reduce/float_environment.h"
#include "reduce/partials.h"
#include "util/clock.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include <mdist/collective.h>

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

namespace {

using namespace mdist;

constexpr int kRounds = 9;
constexpr std::size_t kSmall = 64, kLarge = 262144;

void pin(int processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    sched_setaffinity(0, sizeof set, &set);
}

double median_of(const std::function<double()> &measure) {
    std::vector<double> times;
    for (int round = 0; round < kRounds; ++round) times.push_back(measure());
    std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
    return times[kRounds / 2];
}

double now_ns() {
    return static_cast<double>(monotonic_clock().now_ns());
}
double thread_ns() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

/// Two ends of a connection.
std::array<int, 2> connection() {
    const int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (bind(listener, reinterpret_cast<sockaddr *>(&address), length) != 0 || listen(listener, 1) != 0) std::abort();
    getsockname(listener, reinterpret_cast<sockaddr *>(&address), &length);
    const int a = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(a, reinterpret_cast<sockaddr *>(&address), length) != 0) std::abort();
    const int b = accept(listener, nullptr, nullptr);
    for (const int end : {a, b}) setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    close(listener);
    return {a, b};
}

void send_all(int end, const char *data, std::size_t bytes) {
    for (ssize_t sent; bytes != 0; data += sent, bytes -= static_cast<std::size_t>(sent))
        if ((sent = send(end, data, bytes, MSG_NOSIGNAL)) <= 0) std::abort();
}
void receive_all(int end, char *data, std::size_t bytes) {
    for (ssize_t got; bytes != 0; data += got, bytes -= static_cast<std::size_t>(got))
        if ((got = recv(end, data, bytes, 0)) <= 0) std::abort();
}
/// Looks until something is there, as the library's waits do at first, or sleeps.
void await(int end, bool sleeps) {
    pollfd wait = {end, POLLIN, 0};
    while (poll(&wait, 1, sleeps ? -1 : 0) == 0) {
    }
}

/// What a thread pays for `count` messages that it sends, and the other for those it receives: the larger.
double message_cost(std::size_t bytes, int count) {
    const auto [a, b] = connection();
    std::vector<char> given(bytes, 1), taken(bytes);
    double receiving = 0;
    std::thread other([&, b = b] {
        pin(1);
        const double begin = thread_ns();
        for (int i = 0; i < count; ++i) receive_all(b, taken.data(), bytes);
        receiving = thread_ns() - begin;
    });
    pin(0);
    const double begin = thread_ns();
    for (int i = 0; i < count; ++i) send_all(a, given.data(), bytes);
    const double sending = thread_ns() - begin;
    other.join();
    close(a), close(b);
    return std::max(sending, receiving) / count;
}

/// Half a round trip of a small message.
double half_trip(bool sleeps) {
    constexpr int kTrips = 3000;
    const auto [a, b] = connection();
    std::thread other([sleeps, b = b] {
        pin(1);
        char data[kSmall];
        for (int i = 0; i < kTrips; ++i)
            await(b, sleeps), receive_all(b, data, sizeof data), send_all(b, data, sizeof data);
    });
    pin(0);
    char data[kSmall] = {};
    const double begin = now_ns();
    for (int i = 0; i < kTrips; ++i)
        send_all(a, data, sizeof data), await(a, sleeps), receive_all(a, data, sizeof data);
    const double time = now_ns() - begin;
    other.join();
    close(a), close(b);
    return time / kTrips / 2;
}

/// Half a round trip of a word between threads that look for it in shared memory.
double half_trip_in_memory() {
    constexpr uint32_t kTrips = 100000;
    alignas(64) std::atomic<uint32_t> there{0};
    alignas(64) std::atomic<uint32_t> back{0};
    std::thread other([&] {
        pin(1);
        for (uint32_t i = 1; i <= kTrips; ++i) {
            while (there.load(std::memory_order_acquire) != i) sched_yield();
            back.store(i, std::memory_order_release);
        }
    });
    pin(0);
    const double begin = now_ns();
    for (uint32_t i = 1; i <= kTrips; ++i) {
        there.store(i, std::memory_order_release);
        while (back.load(std::memory_order_acquire) != i) sched_yield();
    }
    const double time = now_ns() - begin;
    other.join();
    return time / kTrips / 2;
}

double copy_cost() {
    std::vector<char> from(kLarge * 16, 1), to(from.size());
    const double begin = now_ns();
    std::memcpy(to.data(), from.data(), from.size());
    return (now_ns() - begin) / static_cast<double>(from.size());
}

/// For each byte of two inputs.
double sum_cost() {
    const reduce::FloatEnvironment environment;
    const reduce::Cut cut(Spans::even(2, 1));
    std::vector<float> a(kLarge), b(kLarge), sum(kLarge);
    const void *const partials[] = {a.data(), b.data()};
    void *const to = sum.data();
    const double begin = now_ns();
    reduce::combine_partials({MDIST_FLOAT32, reduce::Op::kSum, 2}, cut, partials, &to, 1, kLarge);
    return (now_ns() - begin) / static_cast<double>(2 * kLarge * sizeof(float));
}

} // namespace

int main() {
    const double small = median_of([] { return message_cost(kSmall, 20000); });
    const double large = median_of([] { return message_cost(kLarge, 400); });
    const double awake = median_of([] { return half_trip(false); });
    const double asleep = median_of([] { return half_trip(true); });
    std::printf("message=%.0f\n", small);
    std::printf("byte=%.3f\n", (large - small) / static_cast<double>(kLarge - kSmall));
    std::printf("wake=%.0f\n", awake - 2 * small);
    std::printf("# asleep, that would be %.0f\n", asleep - 2 * small);
    std::printf("near_latency=%.0f\n", median_of(half_trip_in_memory));
    std::printf("near_byte=%.3f\n", median_of(copy_cost));
    std::printf("sum_byte=%.3f\n", median_of(sum_cost));
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "util/log.h"

#include "util/forced_unwind.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <mutex>

#include "util/failure.h"
#include "util/utf8.h"
#include "util/write_signals.h"

namespace mdist::log {

namespace {

struct Sink {
    mdist_log_fn call = nullptr;
    void *user_data = nullptr;
    mdist_free_fn free_user_data = nullptr;
};

constexpr const char *kLevelNames[] = {"off", "error", "warn", "info", "debug"};

// Held while a sink runs, so that calls come one at a time and a replaced sink is never still running. free_user_data
// runs without it. constinit, so that loading the library runs no code.
constinit std::mutex sink_mutex;
constinit Sink current_sink;
thread_local bool inside_sink = false;
thread_local Collector *collector = nullptr;

class InsideSink {
  public:
    InsideSink() { inside_sink = true; }
    ~InsideSink() { inside_sink = false; }
    InsideSink(const InsideSink &) = delete;
    InsideSink &operator=(const InsideSink &) = delete;
};

class KeepErrno {
  public:
    KeepErrno() : kept_(errno) {}
    ~KeepErrno() { errno = kept_; }
    KeepErrno(const KeepErrno &) = delete;
    KeepErrno &operator=(const KeepErrno &) = delete;

  private:
    int kept_;
};

/// Runs the program's code. Stops its exceptions here, but lets a thread exit unwind.
template <typename Function>
void contained(Function function) {
    try {
        function();
    } catch (...) {
        if (thread_is_ending()) rethrow();
    }
}

void free_data(const Sink &sink) {
    if (sink.free_user_data != nullptr) contained([&] { sink.free_user_data(sink.user_data); });
}

/// Writes each line with one call, so that lines of several processes on one terminal do not mix. A line that stderr
/// refuses is lost.
void write_to_stderr(const std::string &line) {
    const WriteSignalsHeld held; // stderr may be a pipe whose reader has gone
    std::string_view rest = line;
    while (!rest.empty()) {
        ssize_t written = ::write(STDERR_FILENO, rest.data(), rest.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
}

void deliver(mdist_log_level_t level, const std::string &message) {
    std::lock_guard lock(sink_mutex);
    InsideSink inside;
    contained([&] {
        if (current_sink.call != nullptr)
            current_sink.call(level, message.c_str(), message.size(), current_sink.user_data);
        else
            write_to_stderr(text("mdist: ", kLevelNames[level], ": ", message, '\n'));
    });
}

void warn_of_level_name(std::string_view name) try {
    log_warn("MDIST_LOG is ", in_quotes(name), "; use off, error, warn, info or debug");
} catch (const std::bad_alloc &) {
    return;
}

} // namespace

constinit std::atomic<int> current_level{kLevelUnknown};

bool level_from_name(std::string_view name, mdist_log_level_t *level) {
    auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == b; };
    for (int i = 0; i < 5; ++i) {
        std::string_view known = kLevelNames[i];
        if (!std::equal(name.begin(), name.end(), known.begin(), known.end(), same)) continue;
        *level = static_cast<mdist_log_level_t>(i);
        return true;
    }
    return false;
}

int first_level() {
    const char *name = std::getenv("MDIST_LOG");
    mdist_log_level_t level = MDIST_LOG_WARN;
    bool known = name == nullptr || *name == '\0' || level_from_name(name, &level);
    int expected = kLevelUnknown;
    if (!current_level.compare_exchange_strong(expected, level)) return expected;
    if (!known) warn_of_level_name(name);
    return level;
}

void set_level(mdist_log_level_t level) {
    if (level < MDIST_LOG_OFF || level > MDIST_LOG_DEBUG)
        throw invalid(text("log level ", static_cast<int>(level), " is not valid; use 0 (off) to 4 (debug)"));
    current_level.store(level, std::memory_order_relaxed);
}

void replace_level(mdist_log_level_t old, mdist_log_level_t level) noexcept {
    int expected = old;
    current_level.compare_exchange_strong(expected, level);
}

void set_sink(mdist_log_fn sink, void *user_data, mdist_free_fn free_user_data) {
    Sink next{sink, user_data, free_user_data};
    if (inside_sink) {
        free_data(next);
        throw Failure(MDIST_ERR_WRONG_CONTEXT, "the log sink cannot be replaced by the sink itself; do it outside");
    }
    {
        std::lock_guard lock(sink_mutex);
        std::swap(current_sink, next);
    }
    free_data(next);
}

void write(mdist_log_level_t level, std::string_view message) {
    if (!enabled(level) || inside_sink) return;
    KeepErrno keep;
    if (collector != nullptr) return collector->add(level, message);
    try {
        std::string line(message);
        for (char &c : line)
            if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
        deliver(level, line);
    } catch (const std::bad_alloc &) {
        return;
    }
}

void write_to(Collector *there) {
    collector = there;
}

} // namespace mdist::log

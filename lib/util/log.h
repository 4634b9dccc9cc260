// SPDX-License-Identifier: Apache-2.0
// Log: writes the library's messages to one sink per process. The library prints nothing in any other way.
//
// Calls to the sink are serialised. The level is an atomic, so a disabled message costs one load and a branch. Nothing
// here throws, except set_sink and set_level for wrong arguments. A thread exit inside a sink unwinds through, as it
// must. errno is left alone. Any thread. Messages that a sink itself logs are dropped.
#pragma once

#include <mdist/log.h>

#include <atomic>
#include <new>
#include <string_view>

#include "util/text.h"

namespace mdist {

namespace log {

/// The level before it is first read (from MDIST_LOG) or set.
inline constexpr int kLevelUnknown = -1;
extern std::atomic<int> current_level;

/// Reads MDIST_LOG unless a level was set meanwhile.
int first_level();

inline mdist_log_level_t level() {
    const int current = current_level.load(std::memory_order_relaxed);
    return static_cast<mdist_log_level_t>(current == kLevelUnknown ? first_level() : current);
}

inline bool enabled(mdist_log_level_t wanted) {
    return wanted != MDIST_LOG_OFF && wanted <= level();
}

/// Sets the sink. NULL: the default sink. `free_user_data` runs exactly once: when this sink is replaced, or now if
/// this call throws.
void set_sink(mdist_log_fn sink, void *user_data, mdist_free_fn free_user_data);
void set_level(mdist_log_level_t level);
/// Sets the level if it is still `old`.
void replace_level(mdist_log_level_t old, mdist_log_level_t level) noexcept;

/// Writes one message. Control characters become spaces, so that a message is one line.
void write(mdist_log_level_t level, std::string_view message);

/// Receives a thread's messages in place of the sink.
class Collector {
  public:
    virtual void add(mdist_log_level_t level, std::string_view message) noexcept = 0;

  protected:
    ~Collector() = default;
};

/// Sends this thread's messages to a collector, so that the thread never waits for the sink. NULL: to the sink again.
void write_to(Collector *there);

/// Reads "error", "warn", "info", "debug" or "off", in upper or lower case. Returns false for any other name.
bool level_from_name(std::string_view name, mdist_log_level_t *level);

template <typename... Parts>
void write_parts(mdist_log_level_t level, const Parts &...parts) {
    if (!enabled(level)) return;
    std::string message;
    try {
        message = text(parts...);
    } catch (const std::bad_alloc &) {
        write(level, "a message was lost: out of memory");
        return;
    }
    write(level, message);
}

} // namespace log

template <typename... Parts>
void log_error(const Parts &...parts) {
    log::write_parts(MDIST_LOG_ERROR, parts...);
}
template <typename... Parts>
void log_warn(const Parts &...parts) {
    log::write_parts(MDIST_LOG_WARN, parts...);
}
template <typename... Parts>
void log_info(const Parts &...parts) {
    log::write_parts(MDIST_LOG_INFO, parts...);
}
template <typename... Parts>
void log_debug(const Parts &...parts) {
    log::write_parts(MDIST_LOG_DEBUG, parts...);
}

} // namespace mdist

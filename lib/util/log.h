// SPDX-License-Identifier: Apache-2.0
// Log: the one way the library speaks, through one sink per process.
//
// Calls to the sink are serialised; the level is an atomic, so a message that is switched off costs one load and a
// branch. Nothing here throws, except set_sink and set_level at their callers' mistakes (a thread exit inside a sink
// does unwind through, as it must). errno is left alone. Any thread; what a sink logs itself is dropped.
#pragma once

#include <mdist/log.h>

#include <atomic>
#include <new>
#include <string_view>

#include "util/text.h"

namespace mdist {

namespace log {

/// Not yet known until somebody asks (then MDIST_LOG is read) or sets it.
inline constexpr int kLevelUnknown = -1;
extern std::atomic<int> current_level;

/// Reads MDIST_LOG unless a level was set meanwhile.
int first_level();

inline bool enabled(mdist_log_level_t level) {
    int current = current_level.load(std::memory_order_relaxed);
    if (current == kLevelUnknown) current = first_level();
    return level != MDIST_LOG_OFF && level <= current;
}

/// NULL: the default sink. `free_user_data` runs exactly once: when this sink is replaced, or now if this call throws.
void set_sink(mdist_log_fn sink, void *user_data, mdist_free_fn free_user_data);
void set_level(mdist_log_level_t level);

/// Control characters become spaces: a message is one line.
void write(mdist_log_level_t level, std::string_view message);

/// "error", "warn", "info", "debug" or "off", in any case.
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

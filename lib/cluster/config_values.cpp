// SPDX-License-Identifier: Apache-2.0
#include "cluster/config_values.h"

#include <arpa/inet.h>

#include <algorithm>

#include "util/text.h"
#include "util/utf8.h"

namespace mdist {

Failure bad_value(std::string message) {
    return Failure(MDIST_ERR_CONFIG, std::move(message)).reason("bad_value");
}

namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

std::string_view take_digits(std::string_view &rest) {
    auto end = std::find_if_not(rest.begin(), rest.end(), is_digit);
    std::string_view digits = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
    rest.remove_prefix(digits.size());
    return digits;
}

/// Reads digits as a number. Returns false if it needs more than 64 bits.
bool number_of(std::string_view digits, std::uint64_t *number) {
    *number = 0;
    for (char c : digits) {
        auto digit = static_cast<std::uint64_t>(c - '0');
        if (__builtin_mul_overflow(*number, std::uint64_t{10}, number) ||
            __builtin_add_overflow(*number, digit, number))
            return false;
    }
    return true;
}

struct Unit {
    std::string_view name;
    std::uint64_t size;
};

constexpr Unit kTimeUnits[] = {
    {"", 1'000'000'000},          {"s", 1'000'000'000},          {"ms", 1'000'000}, {"us", 1000}, {"ns", 1},
    {"m", 60ull * 1'000'000'000}, {"h", 3600ull * 1'000'000'000}};
constexpr Unit kByteUnits[] = {
    {"", 1}, {"B", 1}, {"KiB", 1ull << 10}, {"MiB", 1ull << 20}, {"GiB", 1ull << 30}, {"TiB", 1ull << 40}};

template <std::size_t count>
const Unit *find_unit(const Unit (&units)[count], std::string_view name) {
    auto found = std::find_if(std::begin(units), std::end(units), [&](const Unit &unit) { return unit.name == name; });
    return found == std::end(units) ? nullptr : found;
}

void check_host(std::string_view host, std::string_view address) {
    auto bad = [](unsigned char c) {
        return c <= ' ' || c >= 0x7f || c == '/' || c == ',' || c == '@' || c == '[' || c == ']';
    };
    bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    std::string_view inner = bracketed ? host.substr(1, host.size() - 2) : host;
    if (inner.empty() || inner.size() > 255 || std::any_of(inner.begin(), inner.end(), bad))
        throw bad_value(text("the address ", in_quotes(address), " has no valid host; write host:port"));
    if (!bracketed && inner.find(':') != std::string_view::npos)
        throw bad_value(text("the address ", in_quotes(address), " has several colons; write [IPv6 address]:port"));
}

} // namespace

std::uint64_t parse_duration_ns(std::string_view value) {
    std::string_view rest = value;
    std::string_view whole = take_digits(rest), fraction;
    if (rest.starts_with('.')) {
        rest.remove_prefix(1);
        fraction = take_digits(rest);
        if (fraction.empty()) whole = {};
    }
    const Unit *unit = find_unit(kTimeUnits, rest);
    if (whole.empty() || unit == nullptr)
        throw bad_value(text(in_quotes(value),
                             " is not a valid duration; write a number with ns, us, ms, s, m or h, such as 600s"));
    std::uint64_t ns = 0;
    bool fits = number_of(whole, &ns) && !__builtin_mul_overflow(ns, unit->size, &ns) && ns <= kLongestDurationNs;
    std::uint64_t scale = unit->size;
    for (char c : fraction) ns += static_cast<std::uint64_t>(c - '0') * (scale /= 10);
    if (!fits || ns > kLongestDurationNs)
        throw bad_value(text(in_quotes(value), " is too long; a duration is at most 876000h (a hundred years)"));
    if (ns == 0)
        throw bad_value(text(in_quotes(value), " is not a valid duration; it must be more than 0, such as 600s"));
    return ns;
}

std::uint64_t parse_bytes(std::string_view value) {
    std::string_view rest = value;
    std::string_view digits = take_digits(rest);
    const Unit *unit = find_unit(kByteUnits, rest);
    if (digits.empty() || unit == nullptr)
        throw bad_value(
            text(in_quotes(value), " is not a valid size; write whole bytes or KiB, MiB, GiB, TiB, such as 4MiB"));
    std::uint64_t bytes = 0;
    if (!number_of(digits, &bytes) || __builtin_mul_overflow(bytes, unit->size, &bytes) || bytes > INT64_MAX)
        throw bad_value(text(in_quotes(value), " is too large; a size is less than 8388608TiB"));
    return bytes;
}

std::uint64_t parse_count(std::string_view value) {
    std::string_view rest = value;
    std::string_view digits = take_digits(rest);
    std::uint64_t count = 0;
    if (digits.empty() || !rest.empty() || !number_of(digits, &count) || count > INT32_MAX)
        throw bad_value(text(in_quotes(value), " is not a valid count; write a whole number from 0 to 2147483647"));
    return count;
}

std::pair<std::uint16_t, std::uint16_t> parse_ports(std::string_view value) {
    std::string_view rest = value;
    std::uint64_t first = 0, last = 0;
    bool valid = number_of(take_digits(rest), &first);
    last = first;
    if (rest.starts_with('-')) {
        rest.remove_prefix(1);
        valid = number_of(take_digits(rest), &last) && valid;
    }
    if (!valid || !rest.empty() || first == 0 || last < first || last > 65535)
        throw bad_value(
            text(in_quotes(value), " names no ports; write one or a range, from 1 to 65535, as in 5000-5100"));
    return {static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(last)};
}

std::pair<std::string, std::uint16_t> parse_endpoint(std::string_view value) {
    const std::size_t colon = value.rfind(':');
    const bool brackets = value.starts_with('[');
    const bool has_port = colon != value.npos && (brackets ? value[colon - 1] == ']' : value.find(':') == colon);
    std::string host(value.substr(0, has_port ? colon : value.size()));
    if (brackets && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    std::string_view port = has_port ? value.substr(colon + 1) : "1";
    std::uint64_t number = 0;
    unsigned char bytes[16];
    const bool is_number = inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
                           inet_pton(AF_INET6, host.substr(0, host.find('%')).c_str(), bytes) == 1;
    if (!is_number || !number_of(take_digits(port), &number) || !port.empty() || number == 0 || number > 65535)
        throw bad_value(text(in_quotes(value),
                             " is not a numeric address, with a port or without; write it as in "
                             "10.0.0.5, 10.0.0.5:5000, 2001:db8::5 or [2001:db8::5]:5000"));
    return {host, has_port ? static_cast<std::uint16_t>(number) : std::uint16_t{0}};
}

void check_address(std::string_view value) {
    auto colon = value.rfind(':');
    std::string_view port = colon == std::string_view::npos ? "" : value.substr(colon + 1);
    std::string_view rest = port;
    std::string_view digits = take_digits(rest);
    std::uint64_t number = 0;
    if (digits.empty() || !rest.empty())
        throw bad_value(text("the address ", in_quotes(value), " has no port; write host:port"));
    if (!number_of(digits, &number) || number == 0 || number > 65535)
        throw bad_value(text("the port of ", in_quotes(value), " is not within 1 to 65535"));
    check_host(value.substr(0, colon), value);
}

} // namespace mdist

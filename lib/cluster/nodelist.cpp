// SPDX-License-Identifier: Apache-2.0
// Checked against the output of `scontrol show hostnames` of Slurm 22.05. Slurm guesses at an incomplete list
// ("n[1-3"); this code refuses it.
#include "cluster/nodelist.h"

#include <algorithm>

#include "cluster/names.h"
#include "util/failure.h"
#include "util/text.h"
#include "util/utf8.h"

namespace mdist {

namespace {

Failure bad_nodelist(std::string message) {
    return Failure(MDIST_ERR_CONFIG, std::move(message)).reason("bad_nodelist");
}

void check_length(std::size_t length) {
    if (length > kMostHosts) throw bad_nodelist(text("names more than ", kMostHosts, " hosts"));
}

/// A number with more digits is no host number, and could overflow.
constexpr std::size_t kMostDigits = 18;
constexpr std::size_t kMostNameBytes = 255;
constexpr int kMostBrackets = 16;

std::uint64_t number_in(std::string_view digits, std::string_view range) {
    if (digits.empty() || digits.size() > kMostDigits || digits.find_first_not_of("0123456789") != digits.npos)
        throw bad_nodelist(text(in_quotes(range), " is not a valid range; write 3, 1-4 or 001-016"));
    std::uint64_t number = 0;
    for (char digit : digits) number = number * 10 + static_cast<std::uint64_t>(digit - '0');
    return number;
}

/// Appends 08, 09, 10, 11 for "08-11". The first number sets the least number of digits.
void append_range(std::vector<std::string> &numbers, std::string_view range) {
    auto dash = range.find('-');
    std::string_view first = range.substr(0, dash);
    std::uint64_t low = number_in(first, range);
    std::uint64_t high = dash == range.npos ? low : number_in(range.substr(dash + 1), range);
    if (high < low) throw bad_nodelist(text("the range ", in_quotes(range), " runs backwards"));
    if (high - low >= kMostHosts) check_length(kMostHosts + 1);
    check_length(numbers.size() + (high - low + 1));
    for (std::uint64_t number = low; number <= high; ++number) {
        std::string digits = std::to_string(number);
        numbers.push_back(std::string(first.size() - std::min(first.size(), digits.size()), '0') + digits);
    }
}

std::vector<std::string> expand_bracket(std::string_view ranges) {
    std::vector<std::string> numbers;
    for (std::size_t begin = 0; begin <= ranges.size();) {
        std::size_t end = std::min(ranges.find(',', begin), ranges.size());
        append_range(numbers, ranges.substr(begin, end - begin));
        begin = end + 1;
    }
    return numbers;
}

void check_name_length(std::size_t bytes) {
    if (bytes > kMostNameBytes) throw bad_nodelist(text("names a host of more than ", kMostNameBytes, " bytes"));
}

std::size_t longest(const std::vector<std::string> &words) {
    std::size_t bytes = 0;
    for (const std::string &word : words) bytes = std::max(bytes, word.size());
    return bytes;
}

/// Replaces the names by all combinations of a name, the prefix and a number. The number changes fastest. Checks
/// lengths before it makes names, since 65536 names of 60 KB each would take 4 GB.
void multiply(std::vector<std::string> &names, std::string_view prefix, const std::vector<std::string> &numbers) {
    check_length(names.size() * numbers.size());
    check_name_length(longest(names) + prefix.size() + longest(numbers));
    std::vector<std::string> longer;
    for (const std::string &name : names)
        for (const std::string &number : numbers) longer.push_back(text(name, prefix, number));
    names = std::move(longer);
}

std::vector<std::string> expand_item(std::string_view item) {
    auto is_bad = [](unsigned char c) { return c <= ' ' || c >= 0x7f; };
    if (std::any_of(item.begin(), item.end(), is_bad))
        throw bad_nodelist(text(in_quotes(item), " is not a valid host"));
    std::vector<std::string> names{""};
    for (int brackets = 0; !item.empty(); ++brackets) {
        if (brackets > kMostBrackets) throw bad_nodelist(text("a name has more than ", kMostBrackets, " brackets"));
        auto open = item.find('[');
        std::string_view prefix = item.substr(0, open);
        if (prefix.find(']') != prefix.npos) throw bad_nodelist(text(in_quotes(item), " has a ] without a ["));
        if (open == item.npos) {
            if (names.size() != 1 || !names.front().empty())
                throw bad_nodelist(
                    text(in_quotes(prefix), " follows the last bracket of a host name; nothing may follow it"));
            check_name_length(prefix.size());
            return {std::string(prefix)};
        }
        auto close = item.find(']', open);
        if (close == item.npos) throw bad_nodelist(text(in_quotes(item), " has a [ without a ]"));
        multiply(names, prefix, expand_bracket(item.substr(open + 1, close - open - 1)));
        item.remove_prefix(close + 1);
    }
    return names;
}

/// Takes the text up to the next comma outside brackets.
std::string_view take_item(std::string_view &rest) {
    std::size_t end = 0;
    for (bool inside = false; end < rest.size() && (inside || rest[end] != ','); ++end)
        inside = rest[end] == '[' || (inside && rest[end] != ']');
    std::string_view item = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return item;
}

template <typename Function>
auto in_list(std::string_view list, Function expand) {
    try {
        return expand();
    } catch (const Failure &failure) {
        throw bad_nodelist(text(in_quotes(list), ": ", failure.message()));
    }
}

} // namespace

std::vector<std::string> expand_nodelist(std::string_view list) {
    return in_list(list, [&] {
        std::vector<std::string> hosts;
        for (std::string_view rest = list; !rest.empty();) {
            std::vector<std::string> names;
            if (std::string_view item = take_item(rest); !item.empty()) names = expand_item(item);
            check_length(hosts.size() + names.size());
            hosts.insert(hosts.end(), names.begin(), names.end());
        }
        if (hosts.empty()) throw bad_nodelist("names no host");
        return hosts;
    });
}

std::vector<std::uint32_t> expand_counts(std::string_view list) {
    return in_list(list, [&] {
        std::vector<std::uint32_t> counts;
        for (std::string_view item : split_list(list)) {
            std::uint64_t times = 1;
            if (auto open = item.find("(x"); open != item.npos) {
                if (item.back() != ')')
                    throw bad_nodelist(text(in_quotes(item), " is not a valid count; write 2 or 2(x3)"));
                times = number_in(item.substr(open + 2, item.size() - open - 3), item);
                item = item.substr(0, open);
            }
            std::uint64_t count = number_in(item, item);
            if (times == 0 || times > kMostHosts || count > kMostHosts)
                throw bad_nodelist(text(in_quotes(item), ": counts are at most ", kMostHosts));
            check_length(counts.size() + times);
            counts.insert(counts.end(), times, static_cast<std::uint32_t>(count));
        }
        if (counts.empty()) throw bad_nodelist("holds no count");
        return counts;
    });
}

} // namespace mdist

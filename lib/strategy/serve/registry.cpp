// SPDX-License-Identifier: Apache-2.0
#include "strategy/serve/registry.h"

#include "util/text.h"

#include <algorithm>
#include <set>
#include <utility>

namespace mdist {
namespace {

template <class Function>
Function found(const std::map<std::string, Function> &functions, const std::string &name, const char *what) {
    if (const auto entry = functions.find(name); entry != functions.end()) return entry->second;
    std::string known;
    for (const auto &[other, function] : functions) known += text(known.empty() ? "" : ", ", '"', other, '"');
    throw Failure(MDIST_ERR_NOT_FOUND, text("no ", what, " is registered as \"", name, "\"; ",
                                            known.empty() ? text("register it with mdist_", what, "_register")
                                                          : text("registered are ", known)));
}

bool has(const std::vector<std::string> &lines, const std::string &line) {
    return std::find(lines.begin(), lines.end(), line) != lines.end();
}

} // namespace

template <class Function>
void Registry::put(std::map<std::string, Function> &functions, std::string name, Function function) {
    if (name.empty()) throw invalid("the name is empty");
    const std::lock_guard lock(mutex_);
    if (closed_)
        throw Failure(
            MDIST_ERR_FAILED_PRECONDITION,
            text("\"", name,
                 "\" was registered too late. Register every step and update before mdist_serve or the first command"));
    functions[std::move(name)] = std::move(function);
}

void Registry::add(std::string name, NamedStep step) {
    put(steps_, std::move(name), std::move(step));
}

void Registry::add(std::string name, NamedUpdate update) {
    put(updates_, std::move(name), std::move(update));
}

NamedStep Registry::step(const std::string &name) const {
    const std::lock_guard lock(mutex_);
    return found(steps_, name, "step");
}

NamedUpdate Registry::update(const std::string &name) const {
    const std::lock_guard lock(mutex_);
    return found(updates_, name, "update");
}

std::vector<std::string> Registry::close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    std::vector<std::string> lines;
    for (const auto &[name, function] : steps_) lines.push_back(text("step \"", name, '"'));
    for (const auto &[name, function] : updates_) lines.push_back(text("update \"", name, '"'));
    return lines;
}

void require_same_lines(const std::vector<std::vector<std::string>> &lines) {
    std::set<std::string> all;
    for (const auto &own : lines) all.insert(own.begin(), own.end());
    for (const std::string &line : all) {
        std::ptrdiff_t with = -1, without = -1;
        for (std::ptrdiff_t worker = static_cast<std::ptrdiff_t>(lines.size()); worker-- > 0;)
            (has(lines[static_cast<std::size_t>(worker)], line) ? with : without) = worker;
        if (without < 0) continue;
        throw Failure(MDIST_ERR_MISMATCH, text(line, " is registered on worker ", with, ", but not on worker ", without,
                                               "; every worker registers the same before mdist_serve or the first "
                                               "command"))
            .worker(static_cast<uint32_t>(without))
            .reason("different_registrations");
    }
}

} // namespace mdist

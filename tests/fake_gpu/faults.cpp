// SPDX-License-Identifier: Apache-2.0
#include "faults.h"

#include "options.h"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

namespace fake_gpu {
namespace {

struct Planned {
    std::string name;
    uint64_t at; // which call, counted from the library's load
    bool onward; // and all later ones
    Fault fault;
};

/// Never destroyed, as streams may still run when the process ends.
struct FaultTable {
    std::mutex lock;
    std::map<std::string, uint64_t, std::less<>> calls;
    std::vector<Planned> planned;
    std::condition_variable gone_on;
    uint64_t let_go = 0;
    std::vector<std::string> problems;
    uint64_t problem_count = 0;
};

bool parse(const std::string &text, Planned &planned) {
    const std::size_t at = text.find('@');
    if (at == std::string::npos) return false;
    const std::size_t colon = text.find(':', at);
    const std::string kind = colon == std::string::npos ? "" : text.substr(colon + 1);
    planned.name = text.substr(0, at);
    char *end = nullptr;
    planned.at = std::strtoull(text.c_str() + at + 1, &end, 10);
    planned.onward = *end == '+';
    const bool memory = planned.name.starts_with("allocate") || planned.name == "reserve" || planned.name == "commit";
    const std::map<std::string, Fault> kinds = {{"", memory ? Fault::kOutOfMemory : Fault::kFailed},
                                                {"failed", Fault::kFailed},
                                                {"out_of_memory", Fault::kOutOfMemory},
                                                {"invalid", Fault::kInvalid},
                                                {"fatal", Fault::kFatal},
                                                {"hang", Fault::kHang}};
    const auto found = kinds.find(kind);
    if (found == kinds.end() || planned.at == 0) return false;
    planned.fault = found->second;
    // A query fails only because earlier work has failed, and such a failure is final.
    if (planned.name.ends_with("_query") && planned.fault != Fault::kHang) planned.fault = Fault::kFatal;
    return true;
}

FaultTable &fault_table() {
    static FaultTable &once = *[] {
        auto *made = new FaultTable;
        made->problem_count = 0;
        if (!options().problem.empty()) made->problems.push_back(options().problem), made->problem_count = 1;
        for (const std::string &text : options().faults) {
            Planned planned;
            if (parse(text, planned)) {
                made->planned.push_back(planned);
            } else {
                made->problems.push_back("no fault: " + text), ++made->problem_count;
            }
        }
        return made;
    }();
    return once;
}

} // namespace

Fault count_call(const char *name) {
    FaultTable &all = fault_table();
    const std::lock_guard guard(all.lock);
    const uint64_t number = ++all.calls[name];
    for (const Planned &planned : all.planned)
        if ((planned.at == number || (planned.onward && planned.at < number)) && planned.name == name)
            return planned.fault;
    return Fault::kNone;
}

uint64_t calls(const std::string &name) {
    FaultTable &all = fault_table();
    const std::lock_guard guard(all.lock);
    uint64_t sum = 0;
    for (const auto &[one, count] : all.calls)
        if (name.empty() || one == name) sum += count;
    return sum;
}

bool add_fault(const std::string &text) {
    Planned planned;
    if (!parse(text, planned)) return false;
    FaultTable &all = fault_table();
    const std::lock_guard guard(all.lock);
    planned.at += all.calls[planned.name];
    all.planned.push_back(planned);
    return true;
}

void forget_faults() {
    FaultTable &all = fault_table();
    const std::lock_guard guard(all.lock);
    all.planned.clear();
}

uint64_t begin_hang() {
    FaultTable &all = fault_table();
    const std::lock_guard guard(all.lock);
    return all.let_go;
}

void hang(uint64_t begun, const std::function<bool()> &released) {
    FaultTable &all = fault_table();
    while (!released()) {
        std::unique_lock guard(all.lock);
        if (all.let_go != begun) return;
        all.gone_on.wait_for(guard, std::chrono::milliseconds(1));
    }
}

void let_go() {
    FaultTable &all = fault_table();
    const std::lock_guard guard(all.lock);
    ++all.let_go;
    all.gone_on.notify_all();
}

void note_problem(const std::string &sentence) {
    FaultTable &all = fault_table();
    const std::lock_guard guard(all.lock);
    ++all.problem_count;
    if (all.problems.size() < 20) all.problems.push_back(sentence);
}

std::string problems(uint64_t &count) {
    FaultTable &all = fault_table();
    const std::lock_guard guard(all.lock);
    std::string text;
    for (const std::string &one : all.problems) text += one + "\n";
    count = all.problem_count;
    return text;
}

void forget_problems() {
    FaultTable &all = fault_table();
    const std::lock_guard guard(all.lock);
    all.problems.clear();
    all.problem_count = 0;
}

} // namespace fake_gpu

// SPDX-License-Identifier: Apache-2.0
#include "launch/discovery.h"

#include "launch/hostfile.h"

#include <algorithm>
#include <cerrno>
#include <sstream>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mdist {
namespace {

/// Between an answer and the next question.
constexpr Clock::duration kPause = std::chrono::seconds(1);
constexpr std::size_t kMostSaid = 1 << 20;
/// How long a command may take.
constexpr std::chrono::seconds kLimit(60);
/// Between two looks at what a command complains of.
constexpr int kBetweenReadsMs = 100;
/// Says that the command has ended with 0; a comment among the hosts. (Whoever reaps the process need not tell.)
constexpr const char *kComplete = "# complete\n";

/// Adds what can be read now. Returns false at the end.
bool read_some(const Descriptor &pipe, std::string &text) {
    char bytes[4096];
    ssize_t got = 0;
    for (int i = 0; i < 16 && (got = read(pipe.get(), bytes, sizeof bytes)) > 0; ++i)
        if (text.size() < kMostSaid) text.append(bytes, static_cast<std::size_t>(got));
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

std::string last_line(std::string text) {
    while (text.ends_with('\n')) text.pop_back();
    return text.substr(text.rfind('\n') + 1);
}

bool are_same(const std::vector<Host> &some, const std::vector<Host> &others) {
    return std::equal(some.begin(), some.end(), others.begin(), others.end(), [](const Host &one, const Host &other) {
        return one.name == other.name && one.workers == other.workers;
    });
}

} // namespace

Discovery::~Discovery() {
    if (process_) kill(-process_->pid, SIGKILL); // its group
}

void Discovery::begin() {
    std::vector<std::string> environment;
    for (char **entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
    said_.clear();
    began_ = Clock::now();
    complained_.clear();
    const std::string run = std::string("(eval \"$1\") && echo '") + last_line(kComplete) + "'";
    process_ = start_process({"sh", "-c", run, "sh", command_}, environment, Input::kNone, mask_);
}

/// Returns whether the command has said all.
bool Discovery::read_all() {
    const bool goes_on = read_some(process_->output, said_);
    read_some(process_->errors, complained_);
    if (goes_on && Clock::now() - began_ > kLimit) {
        kill(-process_->pid, SIGKILL);
        process_.reset();
        throw UsageError("--discover: \"" + command_ + "\" has not ended within " + std::to_string(kLimit.count()) +
                         " s");
    }
    if (!goes_on) process_.reset();
    return !goes_on;
}

std::vector<Host> Discovery::answer() const {
    if (!said_.ends_with(kComplete))
        throw UsageError("--discover: \"" + command_ + "\" has failed" +
                         (complained_.empty() ? "" : ": " + last_line(complained_)));
    std::istringstream lines(said_);
    std::vector<Host> hosts = hosts_of_lines(host_lines(lines, "--discover"));
    if (hosts.empty()) throw UsageError("--discover: \"" + command_ + "\" names no host");
    return hosts;
}

std::vector<Host> Discovery::ask(const std::string &command) {
    sigset_t mask;
    sigprocmask(SIG_BLOCK, nullptr, &mask);
    Discovery one(command, {}, mask);
    one.begin();
    const pid_t pid = one.process_->pid;
    do {
        pollfd output = {one.process_->output.get(), POLLIN, 0};
        poll(&output, 1, kBetweenReadsMs);
    } while (!one.read_all());
    kill(-pid, SIGKILL); // what it has left in the background
    waitpid(pid, nullptr, 0);
    return one.answer();
}

std::optional<std::vector<Host>> Discovery::take(Console &console) {
    try {
        if (!process_ && Clock::now() < next_) return std::nullopt;
        if (!process_) begin();
        if (!read_all()) return std::nullopt;
        next_ = Clock::now() + kPause;
        std::vector<Host> hosts = answer();
        told_.clear();
        if (are_same(hosts, known_)) return std::nullopt;
        known_ = hosts;
        return hosts;
    } catch (const std::runtime_error &problem) {
        next_ = Clock::now() + kPause;
        if (told_ != problem.what()) console.notice(std::string(problem.what()) + ". The hosts stay as they were");
        told_ = problem.what();
        return std::nullopt;
    }
}

std::string text_of(const std::vector<Host> &hosts) {
    std::string text;
    for (const Host &host : hosts) text += (text.empty() ? "" : ", ") + host.name + ":" + std::to_string(host.workers);
    return text;
}

} // namespace mdist

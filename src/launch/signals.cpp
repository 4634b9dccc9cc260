// SPDX-License-Identifier: Apache-2.0
#include "launch/signals.h"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <sys/signalfd.h>

namespace mdist {
namespace {

bool is_ignored(int signal) {
    struct sigaction action {};
    return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

} // namespace

Signals::Signals() {
    // Whoever started this with a signal ignored (nohup) means it, for the workers too.
    ::signal(SIGCHLD, SIG_DFL);
    sigset_t handled;
    sigemptyset(&handled);
    for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2})
        if (!is_ignored(signal)) sigaddset(&handled, signal);
    sigprocmask(SIG_BLOCK, &handled, &original_);
    arrivals_ = Descriptor(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!arrivals_.is_open()) throw std::system_error(errno, std::generic_category(), "signalfd");
    ::signal(SIGPIPE, SIG_IGN); // a closed log is an errno here
}

Signals::~Signals() {
    sigprocmask(SIG_SETMASK, &original_, nullptr);
}

std::vector<int> Signals::take() {
    std::vector<int> signals;
    signalfd_siginfo arrival;
    while (read(arrivals_.get(), &arrival, sizeof arrival) == sizeof arrival)
        signals.push_back(static_cast<int>(arrival.ssi_signo));
    return signals;
}

bool asks_to_end(int signal) {
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
}

std::string signal_name(int signal) {
    const char *name = sigabbrev_np(signal);
    return name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(signal);
}

} // namespace mdist

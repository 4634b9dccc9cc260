// SPDX-License-Identifier: Apache-2.0
#include "launch/signals.h"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <sys/signalfd.h>
#include <unistd.h>

namespace mdist {
namespace {

bool is_ignored(int signal) {
    struct sigaction action {};
    return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

} // namespace

Signals::Signals() : launcher_(getpid()) {
    // If the launcher was started with a signal ignored (nohup), the signal stays ignored, for the workers too.
    ::signal(SIGCHLD, SIG_DFL);
    sigset_t handled;
    sigemptyset(&handled);
    for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, launchers_end()})
        if (!is_ignored(signal)) sigaddset(&handled, signal);
    sigprocmask(SIG_BLOCK, &handled, &original_);
    // Terminals may stop a background process that writes to them, and the keeper is one.
    sigset_t unwanted;
    sigemptyset(&unwanted);
    sigaddset(&unwanted, SIGTTOU);
    sigprocmask(SIG_BLOCK, &unwanted, nullptr);
    arrivals_ = Descriptor(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!arrivals_.is_open()) throw std::system_error(errno, std::generic_category(), "signalfd");
    for (const int raised : {SIGPIPE, SIGXFSZ}) ::signal(raised, SIG_IGN); // writing to a full log then sets errno
}

Signals::~Signals() {
    release();
}

void Signals::release() {
    sigprocmask(SIG_SETMASK, &original_, nullptr);
}

std::vector<int> Signals::take() {
    std::vector<int> signals;
    signalfd_siginfo arrival;
    while (read(arrivals_.get(), &arrival, sizeof arrival) == sizeof arrival) {
        const int signal = static_cast<int>(arrival.ssi_signo);
        if (signal != launchers_end()) {
            signals.push_back(signal);
        } else if (getpid() != launcher_ && getppid() != launcher_) {
            throw LauncherGone();
        }
    }
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

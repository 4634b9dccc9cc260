// SPDX-License-Identifier: Apache-2.0
#include "launch/keeper.h"

#include "launch/ending.h"

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mdist {
namespace {

/// Seconds after SIGKILL. A process that lives longer waits for a device, or this user may not kill it.
constexpr double kLongestKill_s = 10;
constexpr int kLaunchersEnd = 128 + SIGKILL;

/// Reads /proc/PID/stat: "PID (name) state parent ...", where the name may contain any characters. 0: the process has
/// gone.
pid_t parent_of(const std::filesystem::path &process) {
    std::ifstream file(process / "stat");
    std::string line;
    std::getline(file, line);
    const std::size_t name_end = line.rfind(") ");
    return name_end == std::string::npos ? 0 : std::atoi(line.c_str() + name_end + 4);
}

std::vector<pid_t> own_children() {
    std::vector<pid_t> children;
    std::error_code problem;
    for (std::filesystem::directory_iterator it("/proc", problem), end; !problem && it != end; it.increment(problem)) {
        const std::string name = it->path().filename();
        if (std::isdigit(static_cast<unsigned char>(name[0])) != 0 && parent_of(it->path()) == getpid())
            children.push_back(std::atoi(name.c_str()));
    }
    return children;
}

/// Kills everything below this process, in any group or session. When a child is killed, its children become this
/// process's children.
void end_all_below() {
    const Time until = Clock::now() + seconds(kLongestKill_s);
    for (pid_t ended = 0; ended >= 0 && Clock::now() < until;) {
        for (const pid_t child : own_children()) kill(child, SIGKILL);
        while ((ended = waitpid(-1, nullptr, WNOHANG)) > 0) {
        }
        if (ended == 0) poll(nullptr, 0, 1);
    }
}

/// The launcher's part: passes signals on until the keeper has ended. Returns the keeper's exit status.
int await(pid_t keeper, Signals &signals) {
    std::set<int> passed;
    for (int status = 0;;) {
        pollfd arrivals{signals.fd(), POLLIN, 0};
        poll(&arrivals, 1, -1);
        for (const int signal : signals.take()) {
            if (signal == SIGCHLD) continue;
            passed.insert(signal);
            kill(keeper, signal);
            if (asks_to_end(signal)) kill(keeper, SIGCONT);
        }
        pid_t ended = 0;
        while (ended != keeper && (ended = waitpid(-1, &status, WNOHANG)) > 0) {
        }
        if (ended != keeper) continue;
        if (WIFEXITED(status)) return WEXITSTATUS(status);
        end_all_below();
        const int signal = WTERMSIG(status);
        if (passed.count(signal) == 0)
            std::fprintf(stderr,
                         "mdist: the launcher's process %d, which ran the job, was killed by %s; the job has ended\n",
                         static_cast<int>(keeper), signal_name(signal).c_str());
        return 128 + signal;
    }
}

} // namespace

int run_in_keeper(Signals &signals, const std::function<int()> &work) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const pid_t launcher = getpid();
    const pid_t keeper = fork();
    if (keeper < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (keeper > 0) return await(keeper, signals);
    setpgid(0, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1); // not inherited by a child
    prctl(PR_SET_PDEATHSIG, launchers_end());
    try {
        // The launcher may have gone before the kernel was asked to watch it.
        if (getppid() != launcher) throw LauncherGone();
        return work();
    } catch (const LauncherGone &) {
        end_all_below();
        return kLaunchersEnd;
    }
}

} // namespace mdist

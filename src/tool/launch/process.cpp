// SPDX-License-Identifier: Apache-2.0
#include "launch/process.h"

#include <cerrno>
#include <fstream>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mdist {
namespace {

[[noreturn]] void cannot(const std::string &what) {
    throw std::system_error(errno, std::generic_category(), "cannot " + what);
}

/// Says how many descriptors this process may open, if it has no more.
std::string limit_text() {
    rlimit limit{};
    if (errno != EMFILE || getrlimit(RLIMIT_NOFILE, &limit) != 0) return "";
    return " (the launcher may have " + std::to_string(limit.rlim_cur) + " files open; see ulimit -n)";
}

struct Pipe {
    Pipe() {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) cannot("make a pipe for a worker" + limit_text());
        read = Descriptor(ends[0]);
        write = Descriptor(ends[1]);
    }
    Descriptor read;
    Descriptor write;
};

std::vector<char *> pointers_to(const std::vector<std::string> &texts) {
    std::vector<char *> pointers;
    for (const std::string &text : texts) pointers.push_back(const_cast<char *>(text.c_str()));
    pointers.push_back(nullptr);
    return pointers;
}

/// What the child needs, made before the fork. After the fork it may only call what is safe in a signal handler.
struct Child {
    std::vector<char *> words;
    std::vector<char *> environment;
    int input; // -1: the launcher's
    int output;
    int errors;
    int report; // receives errno if the program cannot run
    const sigset_t *mask;
    pid_t parent;

    [[noreturn]] void run() const {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (const int raised : {SIGPIPE, SIGXFSZ}) signal(raised, SIG_DFL);
        // The parent may have gone before the kernel was asked to watch it.
        const bool ready = getppid() == parent && (input < 0 || dup2(input, STDIN_FILENO) >= 0) &&
                           dup2(output, STDOUT_FILENO) >= 0 && dup2(errors, STDERR_FILENO) >= 0 &&
                           sigprocmask(SIG_SETMASK, mask, nullptr) == 0;
        if (ready) execvpe(words[0], words.data(), environment.data());
        const int problem = errno;
        if (write(report, &problem, sizeof problem) < 0) _exit(126);
        _exit(127);
    }
};

/// Waits until the program runs. Returns 0, or the errno that the child reported.
int await_program(int report) {
    int problem = 0;
    ssize_t got;
    do {
        got = read(report, &problem, sizeof problem);
    } while (got < 0 && errno == EINTR);
    return got == sizeof problem ? problem : 0;
}

/// Why the kernel does not find what runs a program that is there.
std::string interpreter_text(const std::string &program, int problem) {
    if (problem != ENOENT || access(program.c_str(), F_OK) != 0) return "";
    if (program.find('/') == std::string::npos)
        return " (it is in this folder, but not in PATH; write ./" + program + ")";
    std::string line;
    std::getline(std::ifstream(program), line);
    if (!line.starts_with("#!")) return " (the file is there, but not the loader that it needs)";
    if (!line.ends_with('\r')) return " (its first line names " + line.substr(2) + ", which is not there)";
    return " (its first line ends as in Windows, with CR LF: there is no " + line.substr(2, line.size() - 3) + "\\r)";
}

void set_nonblocking(const Descriptor &descriptor) {
    if (fcntl(descriptor.get(), F_SETFL, O_NONBLOCK) != 0) cannot("use a pipe for a worker");
}

} // namespace

Process start_process(const std::vector<std::string> &words, const std::vector<std::string> &environment, Input input,
                      const sigset_t &mask) {
    Pipe output;
    Pipe errors;
    Pipe report;
    Pipe feed;
    if (input == Input::kNone) feed.read = Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
    set_nonblocking(output.read);
    set_nonblocking(errors.read);
    const Child child{pointers_to(words),
                      pointers_to(environment),
                      input == Input::kInherited ? -1 : feed.read.get(),
                      output.write.get(),
                      errors.write.get(),
                      report.write.get(),
                      &mask,
                      getpid()};
    Process process;
    process.pid = fork();
    if (process.pid < 0) cannot("make a process for a worker");
    if (process.pid == 0) child.run();
    setpgid(process.pid, process.pid); // the child does the same; either may come first
    report.write.close();
    if (const int problem = await_program(report.read.get())) {
        waitpid(process.pid, nullptr, 0);
        throw CannotRun(problem, std::generic_category(),
                        "cannot run " + words[0] + interpreter_text(words[0], problem));
    }
    if (input == Input::kPipe) process.input = std::move(feed.write);
    process.output = std::move(output.read);
    process.errors = std::move(errors.read);
    return process;
}

} // namespace mdist

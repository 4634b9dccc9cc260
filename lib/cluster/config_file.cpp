// SPDX-License-Identifier: Apache-2.0
// Config from a file. A path may name anything: a pipe would block a plain open for ever, a device may never end. So
// the file is opened without blocking and looked at before a byte is read.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "cluster/config.h"
#include "util/failure.h"
#include "util/text.h"
#include "util/utf8.h"
#include "util/yaml.h"

namespace mdist {

namespace {

class File {
  public:
    explicit File(int fd) : fd_(fd) {}
    ~File() {
        if (fd_ >= 0) ::close(fd_);
    }
    File(const File &) = delete;
    File &operator=(const File &) = delete;
    int fd() const { return fd_; }

  private:
    int fd_;
};

Failure not_regular(const std::string &path, std::string_view what) {
    return Failure(MDIST_ERR_CONFIG,
                   text("the configuration file ", quoted(path), " is ", what, "; it has to be a regular file"))
        .reason("not_regular");
}

[[noreturn]] void refuse_errno(const std::string &path, std::string_view what, int code) {
    bool missing = code == ENOENT || code == ENOTDIR;
    bool exhausted = code == EMFILE || code == ENFILE;
    std::string message =
        text("cannot ", what, " the configuration file ", quoted(path), ": ", std::generic_category().message(code));
    // What open says to a socket, and to a device without a driver.
    if (code == ENXIO || code == ENODEV) throw not_regular(path, "a socket or device");
    auto status = missing ? MDIST_ERR_NOT_FOUND : exhausted ? MDIST_ERR_RESOURCE : MDIST_ERR_IO;
    throw Failure(status, std::move(message)).reason(code == EACCES || code == EPERM ? "permission" : "").native(code);
}

void check_is_regular(const std::string &path, int fd) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) refuse_errno(path, "look at", errno);
    if (S_ISREG(status.st_mode)) return;
    throw not_regular(path, S_ISDIR(status.st_mode)    ? "a directory"
                            : S_ISFIFO(status.st_mode) ? "a named pipe"
                                                       : "a device or socket");
}

std::string read_regular_file(const std::string &path) {
    int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) refuse_errno(path, "open", errno);
    File file(fd);
    check_is_regular(path, fd);
    // One byte past the limit tells a file that is too long; its stated size can lie (/proc).
    std::string content(yaml::kMostBytes + 1, '\0');
    std::size_t length = 0;
    while (length < content.size()) {
        ssize_t got = ::read(fd, content.data() + length, content.size() - length);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) refuse_errno(path, "read", errno);
        if (got == 0) break;
        length += static_cast<std::size_t>(got);
    }
    if (length > yaml::kMostBytes)
        throw Failure(MDIST_ERR_CONFIG,
                      text("the configuration file ", quoted(path), " is longer than ", yaml::kMostBytes, " bytes"))
            .reason("too_large");
    content.resize(length);
    return content;
}

} // namespace

void Config::load_file(const std::string &path) {
    load_text(read_regular_file(path), path);
}

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
// A path may name anything. A pipe would block a plain open forever, and a device may never end. So the file is opened
// without blocking, and its type is checked before a byte is read.
#include "util/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "util/files.h"
#include "util/text.h"
#include "util/utf8.h"

namespace mdist {

namespace {

/// A file as messages name it.
struct Named {
    const char *what;
    const std::string &path;
    std::string text() const { return mdist::text("the ", what, " ", in_quotes(path)); }
};

Failure not_regular(const Named &name, std::string_view kind) {
    return Failure(MDIST_ERR_CONFIG, text(name.text(), " is ", kind, "; it must be a regular file"))
        .reason("not_regular");
}

[[noreturn]] void refuse_errno(const Named &name, std::string_view what, int code) {
    // open fails this way for a socket, and for a device without a driver.
    if (code == ENXIO || code == ENODEV) throw not_regular(name, "a socket or device");
    throw file_failure(what, name.text(), code);
}

void check_file(const Named &name, int fd, bool only_owner) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) refuse_errno(name, "look at", errno);
    if (!S_ISREG(status.st_mode))
        throw not_regular(name, S_ISDIR(status.st_mode)    ? "a directory"
                                : S_ISFIFO(status.st_mode) ? "a named pipe"
                                                           : "a device or socket");
    if (only_owner && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        throw Failure(MDIST_ERR_CONFIG,
                      text(name.text(), " can be read or written by users other than its owner; run chmod 600 on it"))
            .reason("exposed");
}

} // namespace

std::string read_regular_file(const std::string &path, const char *what, std::size_t most, bool only_owner) {
    const Named name{what, path};
    const OpenFile file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
    if (!file.is_open()) refuse_errno(name, "open", errno);
    check_file(name, file.get(), only_owner);
    // Reading one byte past the limit detects a file that is too long. Its stated size can be wrong (/proc).
    std::string content(most + 1, '\0');
    std::size_t length = 0;
    while (length < content.size()) {
        ssize_t got = ::read(file.get(), content.data() + length, content.size() - length);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) refuse_errno(name, "read", errno);
        if (got == 0) break;
        length += static_cast<std::size_t>(got);
    }
    if (length > most)
        throw Failure(MDIST_ERR_CONFIG, text(name.text(), " is longer than ", most, " bytes")).reason("too_large");
    content.resize(length);
    return content;
}

} // namespace mdist

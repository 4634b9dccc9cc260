// SPDX-License-Identifier: Apache-2.0
// Reads a regular file. A path may name anything: a pipe would block a plain open forever, a device may never end. So
// the file is opened without blocking, and its type is checked before a byte is read.
#include "data/files/bytes.h"
#include "util/failure.h"
#include "util/text.h"
#include "util/utf8.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace mdist {
namespace {

Failure failed(std::string_view doing, const std::string &path, int code) {
    const bool missing = code == ENOENT || code == ENOTDIR;
    const bool exhausted = code == EMFILE || code == ENFILE;
    return Failure(missing     ? MDIST_ERR_NOT_FOUND
                   : exhausted ? MDIST_ERR_RESOURCE
                               : MDIST_ERR_IO,
                   text("cannot ", doing, " ", in_quotes(path), ": ", std::generic_category().message(code)))
        .reason(code == EACCES || code == EPERM ? "permission" : "")
        .native(code);
}

Failure not_regular(const std::string &path, std::string_view kind) {
    return invalid(text(in_quotes(path), " is ", kind, "; datasets read regular files")).reason("not_regular");
}

class FileBytes final : public Bytes {
  public:
    explicit FileBytes(const std::string &path) : path_(path), fd_(opened(path)) {
        struct stat status {};
        if (::fstat(fd_, &status) != 0) refuse(failed("look at", path, errno));
        if (S_ISDIR(status.st_mode)) refuse(not_regular(path, "a directory"));
        if (!S_ISREG(status.st_mode)) refuse(not_regular(path, "a pipe, socket or device"));
        size_ = static_cast<uint64_t>(status.st_size);
        static_cast<void>(::posix_fadvise(fd_, 0, 0, POSIX_FADV_SEQUENTIAL)); // a hint
    }
    ~FileBytes() override { ::close(fd_); }
    FileBytes(const FileBytes &) = delete;
    FileBytes &operator=(const FileBytes &) = delete;

    std::size_t read(char *to, std::size_t most) override { return read_two(to, most, nullptr, 0); }
    std::size_t read_two(char *to, std::size_t most, char *then, std::size_t then_most) override {
        const auto wanted = static_cast<std::size_t>(std::min<uint64_t>(most, size_ - at_));
        if (wanted == 0) return 0;
        const auto more = static_cast<std::size_t>(std::min<uint64_t>(then_most, size_ - at_ - wanted));
        const iovec parts[] = {{to, wanted}, {then, more}};
        ssize_t got = 0;
        do got = more == 0 ? ::read(fd_, to, wanted) : ::readv(fd_, parts, 2);
        while (got < 0 && errno == EINTR);
        if (got < 0) throw failed(text("read byte ", at_, " of"), path_, errno);
        if (got == 0)
            throw Failure(MDIST_ERR_DATA_LOSS, text(in_quotes(path_), " ends at byte ", at_, ", but had ", size_,
                                                    " bytes when it was opened"))
                .reason("corrupt");
        at_ += static_cast<uint64_t>(got);
        return static_cast<std::size_t>(got);
    }
    std::optional<uint64_t> left() const override { return size_ - at_; }

  private:
    static int opened(const std::string &path) {
        if (std::memchr(path.data(), '\0', path.size()) != nullptr)
            throw invalid(text("the file name ", in_quotes(path), " contains a NUL byte"));
        const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        // open fails with ENXIO for a socket, and with ENODEV for a device without a driver.
        if (fd < 0 && (errno == ENXIO || errno == ENODEV)) throw not_regular(path, "a socket or device");
        if (fd < 0) throw failed("open", path, errno);
        return fd;
    }

    /// For the constructor only: if it throws, no destructor closes the file.
    [[noreturn]] void refuse(const Failure &failure) const {
        ::close(fd_);
        throw Failure(failure);
    }

    std::string path_;
    int fd_;
    uint64_t size_ = 0;
    uint64_t at_ = 0;
};

} // namespace

std::unique_ptr<Bytes> open_file(const std::string &path) {
    return std::make_unique<FileBytes>(path);
}

} // namespace mdist

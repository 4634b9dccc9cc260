// SPDX-License-Identifier: Apache-2.0
// Reads a regular file. A path may name anything: a pipe would block a plain open forever, a device may never end. So
// the file is opened without blocking, and its type is checked before a byte is read.
#include "data/files/bytes.h"
#include "util/files.h"
#include "util/text.h"
#include "util/utf8.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace mdist {
namespace {

Failure not_regular(const std::string &path, std::string_view kind) {
    return invalid(text(in_quotes(path), " is ", kind, "; datasets read regular files")).reason("not_regular");
}

class FileBytes final : public Bytes {
  public:
    explicit FileBytes(const std::string &path) : path_(path), file_(opened(path)) {
        struct stat status {};
        if (::fstat(file_.get(), &status) != 0) throw file_failure("look at", in_quotes(path), errno);
        if (S_ISDIR(status.st_mode)) throw not_regular(path, "a directory");
        if (!S_ISREG(status.st_mode)) throw not_regular(path, "a pipe, socket or device");
        size_ = static_cast<uint64_t>(status.st_size);
        static_cast<void>(::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_SEQUENTIAL)); // a hint
    }

    std::size_t read(char *to, std::size_t most) override {
        const auto wanted = static_cast<std::size_t>(std::min<uint64_t>(most, size_ - at_));
        if (wanted == 0) return 0;
        ssize_t got = 0;
        do got = ::read(file_.get(), to, wanted);
        while (got < 0 && errno == EINTR);
        if (got < 0) throw file_failure(text("read byte ", at_, " of"), in_quotes(path_), errno);
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
        if (fd < 0) throw file_failure("open", in_quotes(path), errno);
        return fd;
    }

    std::string path_;
    OpenFile file_;
    uint64_t size_ = 0;
    uint64_t at_ = 0;
};

} // namespace

std::unique_ptr<Bytes> open_file(const std::string &path) {
    return std::make_unique<FileBytes>(path);
}

} // namespace mdist

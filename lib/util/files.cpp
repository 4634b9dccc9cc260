// SPDX-License-Identifier: Apache-2.0
#include "util/files.h"

#include "util/log.h"
#include "util/text.h"
#include "util/utf8.h"
#include "util/write_signals.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <new>
#include <system_error>
#include <utility>

namespace mdist {
namespace {

Failure failed(std::string_view doing, const std::string &path, int code) {
    return file_failure(doing, in_quotes(path), code);
}

int opened(std::string_view doing, int at, const std::string &name, int flags, const std::string &path,
           mode_t mode = 0666) {
    const int fd = ::openat(at, name.c_str(), flags | O_CLOEXEC | O_NOCTTY, mode);
    if (fd < 0) throw failed(doing, path, errno);
    return fd;
}

std::string parent_of(const std::string &path) {
    const std::size_t slash = path.find_last_of('/', path.find_last_not_of('/'));
    return slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

/// Creates a folder and the folders above it. Each is durable on the disk before the next is created.
void make_folder(const std::string &path) {
    const std::string parent = parent_of(path);
    int made = ::mkdir(path.c_str(), 0777);
    if (made != 0 && errno == ENOENT && parent != path) {
        make_folder(parent);
        made = ::mkdir(path.c_str(), 0777);
    }
    if (made == 0) return Folder(parent).flush();
    if (errno != EEXIST) throw failed("create the folder", path, errno);
}

} // namespace

Failure file_failure(std::string_view doing, std::string_view file, int code) {
    const bool missing = doing == "open" && (code == ENOENT || code == ENOTDIR);
    const bool exhausted = code == EMFILE || code == ENFILE;
    return Failure(missing     ? MDIST_ERR_NOT_FOUND
                   : exhausted ? MDIST_ERR_RESOURCE
                               : MDIST_ERR_IO,
                   text("cannot ", doing, " ", file, ": ", std::generic_category().message(code)))
        .reason(code == EACCES || code == EPERM ? "permission" : "")
        .native(code);
}

Folder::Folder(std::string path, std::string_view doing)
    : path_(std::move(path)), file_(opened(doing, AT_FDCWD, path_, O_RDONLY | O_DIRECTORY, path_)) {}

Folder Folder::created(const std::string &path) {
    make_folder(path);
    return Folder(path, "save to");
}

std::string Folder::path_of(std::string_view name) const {
    return text(path_, path_.ends_with('/') ? "" : "/", name);
}

void Folder::lock() {
    if (::flock(fd(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return; // some file systems have no locks
    throw Failure(MDIST_ERR_FAILED_PRECONDITION, text("another process has locked ", mdist::in_quotes(path_),
                                                      "; a folder belongs to one job at a time"))
        .reason("busy");
}

bool Folder::has(const std::string &name) const {
    if (::faccessat(fd(), name.c_str(), F_OK, 0) == 0) return true;
    if (errno == ENOENT) return false;
    throw failed("look at", path_of(name), errno);
}

std::vector<std::string> Folder::names() const {
    const std::unique_ptr<DIR, int (*)(DIR *)> open(::opendir(path_.c_str()), ::closedir);
    if (!open && errno == ENOMEM) throw std::bad_alloc();
    if (!open) throw failed("list", path_, errno);
    std::vector<std::string> all;
    for (;;) {
        errno = 0; // nothing else tells a failure from the end
        const dirent *const entry = ::readdir(open.get());
        if (entry != nullptr)
            all.emplace_back(entry->d_name);
        else if (errno != 0)
            throw failed("list", path_, errno);
        else
            return all;
    }
}

void Folder::remove(const std::string &name) noexcept {
    if (::unlinkat(fd(), name.c_str(), 0) != 0 && errno != ENOENT)
        log_warn("cannot remove ", name, " in ", path_, ": errno ", errno);
}

void Folder::flush() {
    if (::fsync(fd()) != 0) throw failed("flush", path_, errno);
}

std::string NewFile::temporary_name(const std::string &name) {
    return text(".", name, ".new");
}

NewFile::NewFile(Folder &folder, std::string name, bool only_owner)
    : folder_(folder),
      name_(std::move(name)),
      temporary_(temporary_name(name_)),
      file_(opened("create", folder.fd(), temporary_, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK,
                   folder.path_of(temporary_), only_owner ? 0600 : 0666)) {}

NewFile::~NewFile() {
    if (!committed_) folder_.remove(temporary_);
}

void NewFile::write_at(uint64_t offset, const void *data, std::size_t bytes) {
    const auto *from = static_cast<const char *>(data);
    const WriteSignalsHeld held; // reaching the limit on file sizes must be an error, not end the program
    while (bytes > 0) {
        const ssize_t written = ::pwrite(file_.get(), from, bytes, static_cast<off_t>(offset));
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) throw failed("write", folder_.path_of(temporary_), written < 0 ? errno : EIO);
        from += written;
        offset += static_cast<uint64_t>(written);
        bytes -= static_cast<std::size_t>(written);
    }
}

void NewFile::commit() {
    // Never retry a failed flush: the system has then dropped the data that it could not write.
    if (::fsync(file_.get()) != 0) throw failed("flush", folder_.path_of(temporary_), errno);
    if (::renameat(folder_.fd(), temporary_.c_str(), folder_.fd(), name_.c_str()) != 0)
        throw failed("rename to", folder_.path_of(name_), errno);
    committed_ = true;
    folder_.flush();
}

OldFile::OldFile(const Folder &folder, const std::string &name)
    : path_(folder.path_of(name)), file_(opened("open", folder.fd(), name, O_RDONLY | O_NONBLOCK, path_)), bytes_(0) {
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) throw failed("look at", path_, errno);
    if (!S_ISREG(status.st_mode))
        throw Failure(MDIST_ERR_DATA_LOSS, text(mdist::in_quotes(path_), " is not a regular file"));
    bytes_ = static_cast<uint64_t>(status.st_size);
}

void OldFile::read_at(uint64_t offset, void *data, std::size_t bytes) const {
    auto *to = static_cast<char *>(data);
    while (bytes > 0) {
        const ssize_t got = ::pread(file_.get(), to, bytes, static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw failed("read", path_, errno);
        if (got == 0) throw Failure(MDIST_ERR_DATA_LOSS, text(mdist::in_quotes(path_), " ends at byte ", offset));
        to += got;
        offset += static_cast<uint64_t>(got);
        bytes -= static_cast<std::size_t>(got);
    }
}

} // namespace mdist

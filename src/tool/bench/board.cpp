// SPDX-License-Identifier: Apache-2.0
#include "bench/board.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace mdist {

MappedBoard::MappedBoard() : is_own_(true) {
    path_ = (std::filesystem::temp_directory_path() / "mdist-bench-XXXXXX").string();
    const int fd = mkstemp(path_.data());
    if (fd < 0 || ftruncate(fd, sizeof(Board)) != 0)
        throw std::system_error(errno, std::generic_category(), "cannot make " + path_);
    map(fd);
}

MappedBoard::MappedBoard(const std::string &path) : path_(path) {
    const int fd = open(path_.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), "cannot open " + path_);
    map(fd);
}

void MappedBoard::map(int fd) {
    void *const memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    const int problem = errno;
    close(fd);
    if (memory == MAP_FAILED) throw std::system_error(problem, std::generic_category(), "cannot map " + path_);
    board_ = static_cast<Board *>(memory);
}

MappedBoard::~MappedBoard() {
    munmap(board_, sizeof(Board));
    if (is_own_) unlink(path_.c_str());
}

} // namespace mdist

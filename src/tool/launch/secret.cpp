// SPDX-License-Identifier: Apache-2.0
#include "launch/secret.h"

#include "descriptor.h"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mdist {
namespace {

[[noreturn]] void fail(const std::string &what) {
    throw std::system_error(errno, std::generic_category(), what);
}

} // namespace

std::string random_hex(std::size_t bytes) {
    std::vector<unsigned char> random(bytes);
    if (getrandom(random.data(), bytes, 0) != static_cast<ssize_t>(bytes)) fail("getrandom");
    std::string text;
    for (const unsigned char byte : random) {
        text += "0123456789abcdef"[byte >> 4];
        text += "0123456789abcdef"[byte & 15];
    }
    return text;
}

void write_secret(const std::string &path, const std::string &secret) {
    const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.is_open()) fail(path);
    const std::string text = secret + "\n";
    const ssize_t written = write(file.get(), text.data(), text.size());
    if (written == static_cast<ssize_t>(text.size())) return;
    if (written >= 0) errno = ENOSPC;
    const int error = errno;
    unlink(path.c_str()); // an incomplete secret is useless
    errno = error;
    fail(path);
}

SecretFile::SecretFile() : folder_(std::filesystem::temp_directory_path() / ("mdist-" + random_hex(16))) {}

void SecretFile::make(const std::string &secret) {
    if (mkdir(folder_.c_str(), 0700) != 0) fail(folder_.string());
    write_secret(path(), secret);
}

SecretFile::~SecretFile() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

std::string read_secret(const std::string &path) {
    std::ifstream file(path);
    std::string secret(std::istreambuf_iterator<char>(file), {});
    if (!file.is_open() || file.bad()) {
        errno = errno != 0 ? errno : EIO;
        fail(path);
    }
    while (secret.ends_with('\n') || secret.ends_with('\r')) secret.pop_back();
    if (secret.size() < kSecretBytes)
        throw std::runtime_error("the secret in " + path + " has " + std::to_string(secret.size()) +
                                 " bytes; it needs at least " + std::to_string(kSecretBytes) +
                                 " random ones, since shorter secrets and passwords can be guessed. Write one with: " +
                                 "mdist secret " + path + " --force");
    return secret;
}

} // namespace mdist

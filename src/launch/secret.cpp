// SPDX-License-Identifier: Apache-2.0
#include "launch/secret.h"

#include "descriptor.h"

#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/random.h>

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

SecretFile::SecretFile(const std::string &secret) {
    std::string folder = (std::filesystem::temp_directory_path() / "mdist-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) fail(folder);
    folder_ = folder;
    const Descriptor file(open(path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    const std::string text = secret + "\n";
    if (!file.is_open() || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        fail(path());
}

SecretFile::~SecretFile() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

std::string read_secret(const std::string &path) {
    std::ifstream file(path);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf())) {
        errno = errno != 0 ? errno : EIO;
        fail(path);
    }
    std::string secret = text.str();
    if (secret.ends_with('\n')) secret.pop_back();
    return secret;
}

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
// The job's secret: a file of random text that only this user can read, gone when the job is over. Main thread.
#pragma once

#include <filesystem>
#include <string>

namespace mdist {

/// So many random bytes as hexadecimal digits.
std::string random_hex(std::size_t bytes);

class SecretFile {
  public:
    /// In a folder of its own among the temporary files. Throws std::system_error.
    explicit SecretFile(const std::string &secret);
    ~SecretFile();
    SecretFile(const SecretFile &) = delete;
    SecretFile &operator=(const SecretFile &) = delete;

    std::string path() const { return (folder_ / "secret").string(); }

  private:
    std::filesystem::path folder_;
};

/// The content without the newline at its end, as workers read it. Throws std::system_error.
std::string read_secret(const std::string &path);

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
// The job's secret: a file of random text that only this user can read. It is removed when the job is over. Main
// thread.
#pragma once

#include <filesystem>
#include <string>

namespace mdist {

/// Random bytes of a secret made here. Shorter secrets are refused, since they could be guessed.
inline constexpr std::size_t kSecretBytes = 32;

/// Returns this many random bytes as hexadecimal digits.
std::string random_hex(std::size_t bytes);

/// Writes the secret and a newline to a new file that only its owner can read. Throws std::system_error, also if the
/// file exists.
void write_secret(const std::string &path, const std::string &secret);

/// Two processes may have copies of one SecretFile. The last one to end removes the file, whichever has made it.
class SecretFile {
  public:
    /// Chooses a path in a folder of its own among the temporary files. Throws std::system_error.
    SecretFile();
    /// Makes folder and file. Throws std::system_error.
    void make(const std::string &secret);
    ~SecretFile();
    SecretFile(const SecretFile &) = delete;
    SecretFile &operator=(const SecretFile &) = delete;

    std::string path() const { return (folder_ / "secret").string(); }

  private:
    std::filesystem::path folder_;
};

/// Returns the content without the newline at its end, as workers read it. Throws std::system_error,
/// std::runtime_error.
std::string read_secret(const std::string &path);

} // namespace mdist

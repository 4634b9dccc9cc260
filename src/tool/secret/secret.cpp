// SPDX-License-Identifier: Apache-2.0
#include "secret/secret.h"

#include "launch/secret.h"

#include <cerrno>
#include <iostream>
#include <system_error>

#include <unistd.h>

namespace mdist {

int make_secret(const SecretOptions &options) {
    const std::string secret = random_hex(kSecretBytes);
    if (options.file.empty()) {
        std::cout << secret << "\n" << std::flush;
        return std::cout ? 0 : 1;
    }
    if (options.force && unlink(options.file.c_str()) != 0 && errno != ENOENT)
        throw std::system_error(errno, std::generic_category(), options.file);
    try {
        write_secret(options.file, secret);
    } catch (const std::system_error &failure) {
        if (failure.code() != std::errc::file_exists) throw;
        std::cerr << "mdist secret: " << options.file
                  << " already exists; workers may be using it. Use --force to replace it\n";
        return 1;
    }
    return 0;
}

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
// Files that the config names, and the one it is read from.
#include "cluster/config.h"
#include "cluster/secret_file.h"
#include "util/failure.h"
#include "util/file.h"
#include "util/text.h"
#include "util/utf8.h"
#include "util/yaml.h"

namespace mdist {

void Config::load_file(const std::string &path) {
    load_text(read_regular_file(path, "configuration file", yaml::kMostBytes), path);
}

std::string read_secret(const Config &config) {
    constexpr std::size_t kMostBytes = 4096;
    const std::string path(config.text("secret_file"));
    if (path.empty()) return "";
    std::string secret = read_regular_file(path, "secret file", kMostBytes, true);
    while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
    if (secret.empty())
        throw Failure(MDIST_ERR_CONFIG, text(config.origin("secret_file"), ": the secret file ", quoted(path),
                                             " is empty; an empty secret is no secret"))
            .reason("bad_value");
    return secret;
}

} // namespace mdist

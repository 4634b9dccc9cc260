// SPDX-License-Identifier: Apache-2.0
#include "cluster/single_worker.h"

#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>

#include "cluster/config_values.h"
#include "cluster/words.h"
#include "util/failure.h"
#include "util/text.h"
#include "util/utf8.h"

namespace mdist {

namespace {

[[noreturn]] void refuse(std::string_view seen, std::string_view where, std::string_view remedy) {
    throw Failure(MDIST_ERR_UNSUPPORTED,
                  text(where, ": ", seen, " asks for several workers, and this version trains on one; ", remedy))
        .reason("several_workers");
}

void refuse_key(const Config &config, std::string_view key, std::string_view remedy) {
    refuse(text(key, " = ", quoted(config.text(key))), config.origin(key), remedy);
}

/// A choice that would change nothing in silence is refused.
void refuse_other_choice(const Config &config, std::string_view key, std::initializer_list<std::string_view> built) {
    std::string choices;
    for (std::string_view choice : built) {
        if (config.text(key) == choice) return;
        choices += text(choices.empty() ? "" : ", ", choice);
    }
    throw Failure(MDIST_ERR_UNSUPPORTED, text(config.origin(key), ": ", key, " = ", quoted(config.text(key)),
                                              " is not in this version, which has ", choices))
        .reason("not_built");
}

std::string_view variable(const char *name) {
    const char *value = std::getenv(name);
    return value != nullptr ? trimmed(value) : std::string_view();
}

void refuse_environment() {
    constexpr std::string_view kRemedy = "unset it, or set strategy to mirrored to train in this process alone";
    std::string_view size = variable("MDIST_SIZE");
    if (!size.empty() && size.find_first_not_of("0123456789") != std::string_view::npos)
        throw Failure(MDIST_ERR_CONFIG, text("MDIST_SIZE: ", quoted(size), " is no number of workers"))
            .reason("bad_value");
    if (!size.empty() && (size.size() > 9 || parse_count(size) > 1)) refuse(quoted(size), "MDIST_SIZE", kRemedy);
    std::string_view tf_config = variable("TF_CONFIG");
    bool names_nothing =
        tf_config.empty() || (tf_config.size() >= 2 && tf_config.front() == '{' && tf_config.back() == '}' &&
                              trimmed(tf_config.substr(1, tf_config.size() - 2)).empty());
    if (!names_nothing) refuse(quoted(tf_config), "TF_CONFIG", kRemedy);
}

} // namespace

void refuse_unbuilt(const Config &config) {
    for (const ConfigKey &key : config_keys())
        if (std::string_view(key.name).starts_with("cluster.") && config.is_set(key.name))
            refuse_key(config, key.name, "leave the cluster out");
    if (config.text("strategy") == "multi_worker") refuse_key(config, "strategy", "set it to auto or mirrored");
    refuse_other_choice(config, "communication.implementation", {"auto", "ring", "inproc"});
    refuse_other_choice(config, "data.auto_shard_policy", {"auto", "data"});
    if (config.count("task.index") > 0) refuse_key(config, "task.index", "leave the task out");
    if (config.is_from_environment() && config.text("strategy") != "mirrored") refuse_environment();
}

} // namespace mdist

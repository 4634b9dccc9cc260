// SPDX-License-Identifier: Apache-2.0
#include <mdist/config.h>

#include <memory>
#include <string_view>

#include "api/check.h"
#include "api/guard.h"
#include "cluster/config.h"
#include "util/failure.h"
#include "util/text.h"

using mdist::guard;

size_t mdist_config_key_count(void) {
    return mdist::config_keys().size();
}

mdist_status_t mdist_config_key_describe(size_t index, mdist_config_key_t *out, mdist_error_t **error) {
    return guard("mdist_config_key_describe", error, [&] {
        mdist::need(out, "out");
        mdist::check_struct_size(out, sizeof *out, sizeof *out, "mdist_config_key_t");
        const auto keys = mdist::config_keys();
        if (index >= keys.size())
            throw mdist::Failure(MDIST_ERR_INVALID_ARGUMENT,
                                 mdist::text("there is no key ", index, "; the last is ", keys.size() - 1));
        const mdist::ConfigKey &key = keys[index];
        *out = {out->struct_size, 0, key.name, key.environment, key.kind(), key.choices, key.default_text, key.help};
    });
}

mdist_status_t mdist_config_create(mdist_config_t **out, mdist_error_t **error) {
    return guard("mdist_config_create", error, [&] {
        mdist::need(out, "out");
        *out = mdist::publish<mdist_config_t>(std::make_shared<mdist::Config>());
    });
}

mdist_status_t mdist_config_set(mdist_config_t *config, const char *key, const char *value, mdist_error_t **error) {
    return guard("mdist_config_set", error, [&] {
        const auto pinned = mdist::pin(config);
        mdist::need(key, "key");
        mdist::need(value, "value");
        pinned->set(key, value, "mdist_config_set");
    });
}

mdist_status_t mdist_config_get(const mdist_config_t *config, const char *key, char *text, size_t capacity,
                                size_t *needed, mdist_error_t **error) {
    return guard("mdist_config_get", error, [&] {
        const auto pinned = mdist::pin(config);
        mdist::need(key, "key");
        mdist::copy_text(pinned->text(key), text, capacity, needed);
    });
}

mdist_status_t mdist_config_load(mdist_config_t *config, const char *yaml_path, mdist_error_t **error) {
    return guard("mdist_config_load", error, [&] {
        const auto pinned = mdist::pin(config);
        mdist::need(yaml_path, "yaml_path");
        pinned->load_file(yaml_path);
    });
}

mdist_status_t mdist_config_load_text(mdist_config_t *config, const char *yaml, size_t length, mdist_error_t **error) {
    return guard("mdist_config_load_text", error, [&] {
        const auto pinned = mdist::pin(config);
        mdist::need_array(yaml, length, "yaml");
        pinned->load_text(length == 0 ? std::string_view() : std::string_view(yaml, length), "mdist_config_load_text");
    });
}

mdist_status_t mdist_config_load_environment(mdist_config_t *config, mdist_error_t **error) {
    return guard("mdist_config_load_environment", error, [&] { mdist::pin(config)->load_environment(); });
}

void mdist_config_destroy(mdist_config_t *config) {
    mdist::give_up(config);
}

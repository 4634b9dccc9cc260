// SPDX-License-Identifier: Apache-2.0
#include "keys.h"

#include "handles.h"

#include <iostream>
#include <string>

namespace mdist {
namespace {

/// "auto, ring" as "`auto`, `ring`"
std::string as_code(const std::string &words) {
    std::string text = "`";
    for (char c : words) text += c == ',' ? "`," : c == ' ' ? " `" : std::string(1, c);
    return text + "`";
}

void print_row(const mdist_config_key_t &key) {
    const std::string value = key.default_text;
    const std::string choices = key.choices;
    std::cout << "| `" << key.name << "` | `" << key.environment << "` | " << (value.empty() ? "–" : as_code(value))
              << " | " << (choices.empty() ? key.kind : as_code(choices)) << " | " << key.help << " |\n";
}

void print_lines(const mdist_config_key_t &key) {
    const std::string value = key.default_text;
    const std::string choices = key.choices;
    std::cout << key.name << " (" << key.environment << ")\n    " << key.help
              << "\n    Takes: " << (choices.empty() ? key.kind : choices)
              << ". Default: " << (value.empty() ? "none" : value) << ".\n";
}

} // namespace

std::vector<mdist_config_key_t> config_keys() {
    std::vector<mdist_config_key_t> keys(mdist_config_key_count());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        mdist_error_t *error = nullptr;
        keys[i].struct_size = sizeof keys[i];
        require_ok(mdist_config_key_describe(i, &keys[i], &error), error);
    }
    return keys;
}

int print_keys(bool markdown) {
    if (markdown) std::cout << "| key | variable | default | takes | meaning |\n|---|---|---|---|---|\n";
    for (const mdist_config_key_t &key : config_keys()) markdown ? print_row(key) : print_lines(key);
    return 0;
}

} // namespace mdist

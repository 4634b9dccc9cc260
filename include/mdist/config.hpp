// SPDX-License-Identifier: Apache-2.0
// Config: the kind of strategy, its devices and its limits.
#pragma once

#include <string>

#include <mdist/error.hpp>
#include <mdist/handle.hpp>

namespace mdist {

class Config : public Handle<mdist_config_t, mdist_config_destroy> {
  public:
    // Begins with the environment, as load_environment loads it. Keys set later override it.
    Config() : Config(empty()) { load_environment(); }

    explicit Config(mdist_config_t *handle) noexcept : Handle(handle) {}

    // Begins with nothing: the environment is not read. A launcher's workers that use it train alone, or are refused.
    static Config empty() { return Config(create()); }

    Config &set(const std::string &key, const std::string &value) {
        detail::call(mdist_config_set, get(), key.c_str(), value.c_str());
        return *this;
    }

    std::string get(const std::string &key) const {
        size_t needed = 0;
        detail::call(mdist_config_get, get(), key.c_str(), nullptr, size_t{0}, &needed);
        std::string text(needed, '\0');
        detail::call(mdist_config_get, get(), key.c_str(), text.data(), text.size(), &needed);
        text.pop_back(); // the NUL
        return text;
    }
    using Handle::get;

    Config &load(const std::string &yaml_path) {
        detail::call(mdist_config_load, get(), yaml_path.c_str());
        return *this;
    }
    Config &load_text(const std::string &yaml) {
        detail::call(mdist_config_load_text, get(), yaml.data(), yaml.size());
        return *this;
    }
    // Loads the file that MDIST_CONFIG names, and every MDIST_* variable over it, over what is there.
    Config &load_environment() {
        detail::call(mdist_config_load_environment, get());
        return *this;
    }

  private:
    static mdist_config_t *create() {
        mdist_config_t *out = nullptr;
        detail::call(mdist_config_create, &out);
        return out;
    }
};

// Version of the library that is running: 10000 * major + 100 * minor + patch.
inline uint32_t version() noexcept {
    return mdist_version();
}

// Whether this build and this host can do something: "cuda", "avx2" ...
inline bool has(const std::string &feature) noexcept {
    return mdist_has(feature.c_str()) != 0;
}

} // namespace mdist

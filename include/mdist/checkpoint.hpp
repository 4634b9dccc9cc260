// SPDX-License-Identifier: Apache-2.0
// Checkpoint: saves variables and texts to files (safetensors), and restores them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <mdist/dataset.hpp>
#include <mdist/variable.hpp>

namespace mdist {

// All workers make the same calls, outside of steps.
class Checkpoint : public Handle<mdist_checkpoint_t, mdist_checkpoint_destroy> {
  public:
    using Handle::Handle;
    // The newest `keep` files stay; 0: all stay.
    Checkpoint(Strategy &strategy, const std::string &folder, uint32_t keep = 0)
        : Handle(create(strategy, folder, keep)) {}

    // Adds a variable and keeps it alive. Its name in files is `name`, or the variable's own if that is empty.
    Checkpoint &add(const Variable &variable, const std::string &name = "") {
        detail::call(mdist_checkpoint_add, get(), name.empty() ? nullptr : name.c_str(), variable.get());
        return *this;
    }

    // Adds an iterator, whose position is saved and restored. No other call may use it during a save or restore.
    Checkpoint &add(const Iterator &iterator, const std::string &name) {
        detail::call(mdist_checkpoint_add_iterator, get(), name.c_str(), iterator.get());
        thrown_->look_in(iterator.thrown());
        return *this;
    }

    // Adds a text to save with the variables. The chief's text is saved.
    Checkpoint &set_text(const std::string &key, const std::string &text) {
        detail::call(mdist_checkpoint_set_text, get(), key.c_str(), text.c_str());
        return *this;
    }
    std::optional<std::string> text(const std::string &key) const {
        return found<std::string>([&] {
            size_t needed = 0;
            detail::call(mdist_checkpoint_text, get(), key.c_str(), nullptr, size_t{0}, &needed);
            std::string text(needed, '\0');
            detail::call(mdist_checkpoint_text, get(), key.c_str(), text.data(), text.size(), &needed);
            text.pop_back(); // the NUL
            return text;
        });
    }

    // The keys of all texts, in their order.
    std::vector<std::string> keys() const {
        std::vector<std::string> keys;
        for (size_t i = 0, count = mdist_checkpoint_text_count(get()); i < count; ++i) {
            size_t needed = 0;
            detail::call(mdist_checkpoint_text_key, get(), i, nullptr, size_t{0}, &needed);
            std::string &key = keys.emplace_back(needed, '\0');
            detail::call(mdist_checkpoint_text_key, get(), i, key.data(), key.size(), &needed);
            key.pop_back(); // the NUL
        }
        return keys;
    }

    // Returns when the checkpoint is on disk.
    void save(uint64_t number, CallOptions options = {}) {
        detail::call(mdist_checkpoint_save, get(), number, options.get());
    }

    // Returns the number of the restored checkpoint; nothing if there is none. The file must have the same names as the
    // variables. With `partial`, variables that the file lacks keep their values, and other contents of the file are
    // ignored.
    std::optional<uint64_t> restore(uint64_t number = MDIST_LATEST, bool partial = false, CallOptions options = {}) {
        const mdist_restore_options_t given{sizeof given, partial ? uint32_t{MDIST_RESTORE_PARTIAL} : 0,
                                            options.get()->timeout_ns};
        return found<uint64_t>([&] {
            uint64_t restored = 0;
            thrown_->call(mdist_checkpoint_restore, get(), number, &restored, &given);
            return restored;
        });
    }

    // Removes all checkpoints from the folder: the training is done, and the next one is to begin anew. All workers
    // call it.
    void clear(CallOptions options = {}) { detail::call(mdist_checkpoint_clear, get(), options.get()); }

    // Returns the number of the checkpoint that was saved last in a folder.
    static std::optional<uint64_t> latest(const std::string &folder) {
        return found<uint64_t>([&] {
            uint64_t number = 0;
            detail::call(mdist_checkpoint_latest, folder.c_str(), &number);
            return number;
        });
    }

  private:
    static mdist_checkpoint_t *create(Strategy &strategy, const std::string &folder, uint32_t keep) {
        mdist_checkpoint_t *out = nullptr;
        detail::call(mdist_checkpoint_create, strategy.get(), folder.c_str(), keep, &out);
        return out;
    }

    template <typename Result, typename Function>
    static std::optional<Result> found(Function function) {
        try {
            return function();
        } catch (const Error &error) {
            if (error.status() != MDIST_ERR_NOT_FOUND) throw;
            return std::nullopt;
        }
    }

    std::shared_ptr<detail::Thrown> thrown_ = std::make_shared<detail::Thrown>();
};

} // namespace mdist

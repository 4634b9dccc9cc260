// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint.h"

#include "api/replica_guard.h"
#include "checkpoint/folder.h"
#include "util/text.h"

#include <mdist/checkpoint.h>

#include <optional>

using namespace mdist;

namespace {

// What is above is a macro, or could become one (base.h).
constexpr uint64_t kLargestNumber = 0x7ffffffffffffeff;

constexpr const char *kInstead = "mdist_merge_call, and do it in the merge";

/// Runs `body(Checkpoint &)` with the turn of its strategy.
template <class Body>
mdist_status_t checkpoint_guard(const char *function, const mdist_checkpoint_t *handle, mdist_error_t **error,
                                Body &&body) {
    return guard(function, error, [&] {
        const auto checkpoint = pin(handle);
        const Turn turn(checkpoint->job(), function, kInstead);
        body(*checkpoint);
    });
}

} // namespace

mdist_status_t mdist_checkpoint_create(mdist_strategy_t *strategy, const char *folder, uint32_t keep,
                                       mdist_checkpoint_t **out, mdist_error_t **error) {
    return strategy_guard("mdist_checkpoint_create", strategy, kInstead, error, [&](Strategy &self) {
        need(folder, "folder");
        need(out, "out");
        *out = publish<mdist_checkpoint_t>(std::make_shared<Checkpoint>(self.shared_from_this(), folder, keep));
    });
}

mdist_status_t mdist_checkpoint_add(mdist_checkpoint_t *checkpoint, const char *name, mdist_variable_t *variable,
                                    mdist_error_t **error) {
    return checkpoint_guard("mdist_checkpoint_add", checkpoint, error, [&](Checkpoint &self) {
        const auto pinned = pin(variable);
        self.add(name == nullptr ? pinned->spec().name : name, pinned.shared());
    });
}

mdist_status_t mdist_checkpoint_add_iterator(mdist_checkpoint_t *checkpoint, const char *name,
                                             mdist_iterator_t *iterator, mdist_error_t **error) {
    return checkpoint_guard("mdist_checkpoint_add_iterator", checkpoint, error, [&](Checkpoint &self) {
        need_text(name, "name");
        self.add_iterator(name, pin(iterator).shared());
    });
}

mdist_status_t mdist_checkpoint_set_text(mdist_checkpoint_t *checkpoint, const char *key, const char *text,
                                         mdist_error_t **error) {
    return checkpoint_guard("mdist_checkpoint_set_text", checkpoint, error, [&](Checkpoint &self) {
        need_text(key, "key");
        need_text(text, "text");
        self.set_text(key, text);
    });
}

mdist_status_t mdist_checkpoint_text(const mdist_checkpoint_t *checkpoint, const char *key, char *text, size_t capacity,
                                     size_t *needed, mdist_error_t **error) {
    return checkpoint_guard("mdist_checkpoint_text", checkpoint, error, [&](const Checkpoint &self) {
        need_text(key, "key");
        copy_text(self.text_of(key), text, capacity, needed);
    });
}

size_t mdist_checkpoint_text_count(const mdist_checkpoint_t *checkpoint) {
    const auto pinned = try_pin(checkpoint);
    return pinned ? pinned->text_count() : 0;
}

mdist_status_t mdist_checkpoint_text_key(const mdist_checkpoint_t *checkpoint, size_t index, char *text,
                                         size_t capacity, size_t *needed, mdist_error_t **error) {
    return checkpoint_guard("mdist_checkpoint_text_key", checkpoint, error,
                            [&](const Checkpoint &self) { copy_text(self.text_key(index), text, capacity, needed); });
}

mdist_status_t mdist_checkpoint_save(mdist_checkpoint_t *checkpoint, uint64_t number,
                                     const mdist_call_options_t *options, mdist_error_t **error) {
    return checkpoint_guard("mdist_checkpoint_save", checkpoint, error, [&](Checkpoint &self) {
        if (number > kLargestNumber)
            throw invalid(text("number is ", number, "; the largest is ", kLargestNumber, " (2^63 - 257)"));
        self.job().comm.with_memory("mdist_checkpoint_save", [&] { self.save(number, timeout_of(options)); });
    });
}

mdist_status_t mdist_checkpoint_restore(mdist_checkpoint_t *checkpoint, uint64_t number, uint64_t *restored,
                                        const mdist_restore_options_t *options, mdist_error_t **error) {
    return checkpoint_guard("mdist_checkpoint_restore", checkpoint, error, [&](Checkpoint &self) {
        const mdist_restore_options_t known = read_options(options, "options");
        if ((known.flags & ~static_cast<uint32_t>(MDIST_RESTORE_PARTIAL)) != 0)
            throw invalid(text("options.flags is ", known.flags, "; use MDIST_RESTORE_PARTIAL (1) or 0"));
        if (number > kLargestNumber && number != MDIST_LATEST)
            throw invalid(
                text("number is ", number, "; it can be MDIST_LATEST, or at most ", kLargestNumber, " (2^63 - 257)"));
        const uint64_t given = self.job().comm.with_memory("mdist_checkpoint_restore", [&] {
            return self.restore(number == MDIST_LATEST ? std::nullopt : std::optional(number),
                                (known.flags & MDIST_RESTORE_PARTIAL) != 0, known.timeout_ns);
        });
        if (restored != nullptr) *restored = given;
    });
}

mdist_status_t mdist_checkpoint_clear(mdist_checkpoint_t *checkpoint, const mdist_call_options_t *options,
                                      mdist_error_t **error) {
    return checkpoint_guard("mdist_checkpoint_clear", checkpoint, error, [&](Checkpoint &self) {
        self.job().comm.with_memory("mdist_checkpoint_clear", [&] { self.clear(timeout_of(options)); });
    });
}

mdist_status_t mdist_checkpoint_latest(const char *folder, uint64_t *number, mdist_error_t **error) {
    return guard("mdist_checkpoint_latest", error, [&] {
        need(folder, "folder");
        need(number, "number");
        *number = CheckpointFolder::open(folder).latest();
    });
}

void mdist_checkpoint_destroy(mdist_checkpoint_t *checkpoint) {
    give_up(checkpoint);
}

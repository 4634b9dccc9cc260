// SPDX-License-Identifier: Apache-2.0
#include "util/failure.h"

namespace mdist {

Failure::Text::Text(std::string_view words, std::string_view more) noexcept {
    if (words.empty()) return;
    try {
        std::string all(words);
        all.append(more);
        words_ = std::make_shared<const std::string>(std::move(all));
    } catch (const std::bad_alloc &) {
        return; // the failure goes on without them
    }
}

const std::string &Failure::Text::words() const noexcept {
    static const std::string none;
    return words_ ? *words_ : none;
}

Failure as_failure(const std::exception &exception) noexcept {
    const auto *const failure = dynamic_cast<const Failure *>(&exception);
    return failure != nullptr ? *failure : out_of_memory();
}

Failure &&Failure::about(std::string_view what) &&noexcept {
    try {
        std::string subject(what);
        const Text longer(subject.append(": "), message());
        if (!longer.words().empty()) message_ = longer;
    } catch (const std::bad_alloc &) {
        // The sentence alone must do.
    }
    return std::move(*this);
}

const std::string &Failure::message() const noexcept {
    static const std::string short_of_memory = "out of memory"; // this short, it needs none
    const bool says_all = message_.words().empty() && status_ == MDIST_ERR_OUT_OF_MEMORY;
    return says_all ? short_of_memory : message_.words();
}

} // namespace mdist

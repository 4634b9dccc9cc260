// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint.h"

#include "checkpoint/safetensors.h"
#include "util/failure.h"
#include "util/text.h"
#include "util/utf8.h"

#include <bit>
#include <iterator>
#include <utility>

namespace mdist {
Checkpoint::Checkpoint(std::shared_ptr<Job> job, std::string folder, uint32_t keep)
    : job_(std::move(job)), folder_(std::move(folder)), keep_(keep) {
    if (folder_.empty()) throw invalid("folder is empty; for the current folder pass \".\"");
    if constexpr (std::endian::native != std::endian::little)
        throw Failure(MDIST_ERR_UNSUPPORTED, "checkpoints are little-endian, but this machine is big-endian");
}

void Checkpoint::add(const std::string &name, std::shared_ptr<Variable> variable) {
    if (name.empty()) throw invalid("name is \"\"");
    require_utf8("name", name);
    if (name == kMetadataName)
        throw invalid(text("name is \"", kMetadataName, "\", which is reserved; use another name"));
    if (&variable->job() != job_.get())
        throw invalid(text("variable ", mdist::in_quotes(variable->spec().name), " belongs to another strategy"));
    if (!variables_.emplace(name, std::move(variable)).second)
        throw invalid(text("this checkpoint already has a variable named ", mdist::in_quotes(name)));
}

void Checkpoint::add_iterator(const std::string &name, std::shared_ptr<Iterator> iterator) {
    if (name.empty()) throw invalid("name is \"\"");
    require_utf8("name", name);
    for (const auto &[other, there] : iterators_)
        if (there == iterator)
            throw invalid(text("this checkpoint already has the iterator, under the name ", mdist::in_quotes(other)));
    if (!iterators_.emplace(name, std::move(iterator)).second)
        throw invalid(text("this checkpoint already has an iterator named ", mdist::in_quotes(name)));
}

void Checkpoint::set_text(const std::string &key, std::string text) {
    require_utf8("key", key);
    require_utf8("text", text);
    if (key.empty() || key.starts_with(kOwnKeys))
        throw invalid(
            mdist::text("key is ", mdist::in_quotes(key), "; it must not be empty, nor begin with \"", kOwnKeys, "\""));
    texts_[key] = std::move(text);
}

const std::string &Checkpoint::text_of(const std::string &key) const {
    const auto found = texts_.find(key);
    if (found == texts_.end()) throw Failure(MDIST_ERR_NOT_FOUND, text("there is no text ", mdist::in_quotes(key)));
    return found->second;
}

const std::string &Checkpoint::text_key(std::size_t index) const {
    if (index >= texts_.size()) throw invalid(text("index is ", index, "; there are ", texts_.size(), " texts"));
    return std::next(texts_.begin(), static_cast<std::ptrdiff_t>(index))->first;
}

/// Describes what must be the same on all workers.
std::string Checkpoint::subject(const std::string &first_line) const {
    std::string lines = first_line;
    for (const auto &[name, variable] : variables_)
        lines += text("\nvariable ", mdist::in_quotes(name), ": ", variable->spec().text());
    for (const auto &[name, iterator] : iterators_) lines += text("\niterator ", mdist::in_quotes(name));
    return lines;
}

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
// name: gives the components names. The elements stay the same.
#include "data/transforms.h"
#include "util/failure.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

std::vector<Spec> named(std::vector<Spec> spec, std::vector<std::string> paths) {
    if (paths.size() != spec.size())
        throw invalid(text("count is ", paths.size(), "; elements of this dataset have ", spec.size(), " components"));
    for (std::size_t i = 0; i < spec.size(); ++i) spec[i].path = std::move(paths[i]);
    return spec;
}

class Name final : public Rewritable<Name> {
  public:
    Name(Source source, std::vector<std::string> paths) : Rewritable(source, named(source->spec(), std::move(paths))) {}

    std::unique_ptr<Stream> open(const Iteration &iteration) const override { return source().open(iteration); }
    Traits traits() const override {
        const std::string names = list_of(spec(), [](const Spec &component) { return component.path; });
        return {.text = text("name(", names, ")"), .identity = "", .keeps_batch_size = true};
    }
    std::optional<uint64_t> size() const override { return source().size(); }
};

} // namespace

std::vector<std::string> paths_of(const std::vector<Spec> &spec) {
    const bool all =
        std::all_of(spec.begin(), spec.end(), [](const Spec &component) { return !component.path.empty(); });
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < spec.size(); ++i)
        paths.push_back(all ? spec[i].path : spec.size() == 1 ? std::string() : std::to_string(i));
    return paths;
}

std::shared_ptr<Dataset> make_named(Source source, std::vector<std::string> paths) {
    return std::make_shared<Name>(std::move(source), std::move(paths));
}

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
#include "data/distribute/describe.h"

#include "util/dtype.h"
#include "util/text.h"

namespace mdist {
namespace {

class Lines {
  public:
    void add(const Dataset &dataset, const std::string &first, const std::string &indent) {
        const Sources sources = dataset.sources();
        const std::string called = dataset.traits().text;
        if (sources.size() == 1) {
            add(*sources[0], first, indent);
            put(indent + called);
            return;
        }
        put(first + called + (sources.empty() ? "" : " of"));
        for (std::size_t i = 0; i < sources.size() && count_ < kMost; ++i) {
            const std::string number = text("  ", i + 1, ": ");
            add(*sources[i], indent + number, indent + std::string(number.size(), ' '));
        }
    }
    const std::string &all() const { return all_; }

  private:
    // A few datasets that are used many times over would make too many lines.
    static constexpr std::size_t kMost = 200;

    void put(const std::string &line) {
        if (count_ < kMost) all_ += line + "\n";
        if (count_ == kMost) all_ += "...\n";
        ++count_;
    }

    std::string all_;
    std::size_t count_ = 0;
};

std::string component(const Spec &spec) {
    return text(spec.path, spec.path.empty() ? "" : ": ", dtype_name(spec.dtype),
                spec.shape.rank == 0 ? "" : text(" [", spec.lengths(), "]"));
}

} // namespace

std::string pipeline_of(const Dataset &dataset) {
    Lines lines;
    lines.add(dataset, "", "");
    return lines.all();
}

std::string describe(const Dataset &dataset) {
    std::string all = pipeline_of(dataset);
    const std::optional<uint64_t> size = dataset.size();
    all += dataset.endless() ? "endless elements of " : size ? text(*size, " elements of ") : "elements of ";
    for (std::size_t i = 0; i < dataset.component_count(); ++i)
        all += (i == 0 ? "" : "; ") + component(dataset.spec()[i]);
    return all + "\n";
}

} // namespace mdist

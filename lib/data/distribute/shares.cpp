// SPDX-License-Identifier: Apache-2.0
#include "data/distribute/shares.h"

#include "data/dataset.h"
#include "util/text.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mdist {
namespace {

std::vector<uint64_t> ceiling(uint64_t rows, uint64_t slices) {
    const uint64_t most = rows / slices + (rows % slices != 0 ? 1 : 0);
    std::vector<uint64_t> shares(slices);
    for (uint64_t &share : shares) {
        share = std::min(most, rows);
        rows -= share;
    }
    return shares;
}

std::vector<uint64_t> even(uint64_t rows, uint64_t slices, uint64_t turn) {
    std::vector<uint64_t> shares(slices, rows / slices);
    for (uint64_t i = 0; i < rows % slices; ++i) ++shares[i];
    std::rotate(shares.begin(), shares.begin() + static_cast<std::ptrdiff_t>(turn % slices), shares.end());
    return shares;
}

std::vector<uint64_t> weighted(uint64_t rows, const std::vector<double> &weights) {
    const double largest = *std::max_element(weights.begin(), weights.end());
    double all = 0; // the sum of the weights, scaled down so that it cannot overflow
    for (const double weight : weights) all += weight / largest;
    std::vector<uint64_t> shares;
    std::vector<double> remainders;
    uint64_t left = rows;
    for (const double weight : weights) {
        const double exact = static_cast<double>(rows) * (weight / largest / all);
        shares.push_back(exact < 0x1p63 ? std::min(static_cast<uint64_t>(exact), left) : left);
        remainders.push_back(exact - std::floor(exact));
        left -= shares.back();
    }
    std::vector<std::size_t> order(weights.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
    for (std::size_t i = 0; left != 0 && i < order.size(); ++i, --left) ++shares[order[i]];
    shares[order[0]] += left; // not 0 only if the numbers are too large to be exact
    return shares;
}

bool known(const Spec &component) {
    return component.shape.rank != 0 && component.shape.dims[0] != Spec::kUnknown;
}

/// Looks for the batch size in the transforms, down to the first one that does not keep batches as they are.
std::optional<uint64_t> made_of(const Dataset &dataset) {
    const Traits traits = dataset.traits();
    if (traits.batch_size || !traits.keeps_batch_size) return traits.batch_size;
    const Sources sources = dataset.sources();
    const std::optional<uint64_t> first = made_of(*sources[0]);
    for (std::size_t i = 1; i < sources.size() && first; ++i)
        if (made_of(*sources[i]) != first) return std::nullopt;
    return first;
}

} // namespace

std::vector<uint64_t> Shares::of(uint64_t rows) const {
    switch (rule) {
        case Rule::kCeiling:
            return ceiling(rows, slices);
        case Rule::kEven:
            return even(rows, slices, turn);
        case Rule::kEqual:
            return std::vector<uint64_t>(slices, rows / slices);
        case Rule::kWeighted:
            return weighted(rows, weights);
    }
    return {};
}

std::string Shares::text() const {
    switch (rule) {
        case Rule::kCeiling:
            return mdist::text("ceil(rows / ", slices, ") each, as long as there are rows");
        case Rule::kEven:
            return mdist::text("rows / ", slices, " each, some with one more");
        case Rule::kEqual:
            return mdist::text("floor(rows / ", slices, ") each, the rest dropped");
        case Rule::kWeighted:
            return "rows by weight";
    }
    return "";
}

std::vector<uint64_t> batch_sizes_for_worker(uint64_t batch_size, const InputLayout &layout) {
    // In each step, all workers move on by the same number of shares. With the same number of replicas on each worker,
    // that is to the next ones in the row.
    const uint32_t total = layout.total();
    const uint32_t turn = layout.spans.are_even() ? layout.own().count() : 1;
    const std::vector<uint64_t> all = even(batch_size, total, 0);
    std::vector<uint64_t> sizes;
    for (uint32_t step = 0; step < total / std::gcd(total, turn); ++step)
        for (uint32_t replica = layout.own().first; replica < layout.own().last; ++replica)
            sizes.push_back(all[(replica + uint64_t{step} * turn) % total]);
    return sizes;
}

std::optional<uint64_t> batch_size_of(const Dataset &dataset) {
    const std::vector<Spec> &spec = dataset.spec();
    if (!std::all_of(spec.begin(), spec.end(), known)) return made_of(dataset);
    const uint64_t rows = spec[0].shape.dims[0];
    const bool alike =
        std::all_of(spec.begin(), spec.end(), [&](const Spec &each) { return each.shape.dims[0] == rows; });
    return alike ? std::optional(rows) : std::nullopt;
}

} // namespace mdist

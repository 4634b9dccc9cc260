// SPDX-License-Identifier: Apache-2.0
// Datasets and iterators.
#include <algorithm>
#include <numeric>

#include "check.hpp"

namespace {

// Records its destruction.
struct Owner {
    explicit Owner(int &gone_) : gone(&gone_) {}
    Owner(Owner &&other) noexcept : gone(std::exchange(other.gone, nullptr)) {}
    ~Owner() {
        if (gone) ++*gone;
    }
    int *gone;
};

std::vector<float> all_of(mdist::Iterator iterator) {
    std::vector<float> result;
    for (const mdist::Values &element : iterator) {
        const auto part = element[0].tensor().as<float>();
        result.insert(result.end(), part.begin(), part.end());
    }
    return result;
}

} // namespace

void check_input() {
    check("elements come in order, shuffled ones in another every time, and none is lost", [] {
        std::vector<float> rows(20);
        std::iota(rows.begin(), rows.end(), 0.0f);
        const auto source = mdist::Dataset::from_tensors({rows});
        require(all_of(source.iterator()) == rows, "in order");
        const auto shuffled = source.shuffle(20, 5).batch(3);
        auto first = all_of(shuffled.iterator());
        const auto second = all_of(shuffled.iterator());
        require(first != rows && first != second, "not shuffled");
        std::sort(first.begin(), first.end());
        require(first == rows, "lost");
        require(all_of(source.shard(4, 1).repeat(2).iterator()).size() == 10, "shard and repeat");
    });
    check("batches are cut over the replicas, and a map computes them", [] {
        auto strategy = strategy_of(2);
        const std::vector<uint8_t> pixels(7 * 2, 51);
        const auto scale = [](mdist::ConstTensors in, mdist::Tensors out) {
            const auto from = in[0].as<uint8_t>();
            std::transform(from.begin(), from.end(), out[0].as<float>().begin(),
                           [](uint8_t one) { return static_cast<float>(one) / 255; });
        };
        const auto dataset = mdist::Dataset::from_tensors({{pixels, {7, 2}}})
                                 .batch(4)
                                 .map(scale, {mdist::Tensor::of<float>({MDIST_UNKNOWN_LENGTH, 2})})
                                 .prefetch(2)
                                 .distribute(strategy);
        std::vector<uint64_t> rows;
        for (mdist::Values &batch : dataset.iterator()) {
            const mdist::Value counts = strategy.run(
                [](mdist::Replica &replica) {
                    const auto images = replica.argument(0);
                    for (const float one : images.as<float>()) require(one == 0.2f, "not scaled");
                    return images.shape[0];
                },
                batch);
            for (size_t i = 0; i < 2; ++i) rows.push_back(counts.tensor(i).item<uint64_t>());
        }
        require(rows == std::vector<uint64_t>{2, 2, 2, 1}, "cut elsewhere");
    });
    check("options decide who gets which rows, and it is explained", [] {
        auto strategy = strategy_of(2);
        std::vector<int64_t> rows(8);
        std::iota(rows.begin(), rows.end(), 0);
        const auto batches = mdist::Dataset::from_tensors({rows}).batch(4);
        mdist::InputOptions options;
        options.weights = {1, 3};
        auto iterator = batches.distribute(strategy, options).iterator();
        const auto element = iterator.next();
        require((*element)[0].tensor(1).as<int64_t>()[0] == 1, "the second replica does not begin with row 1");
        require(iterator.row_counts(strategy) == std::vector<uint64_t>{1, 3}, "other numbers of rows");
        options = {};
        options.flags = MDIST_INPUT_NO_SPLIT;
        const auto whole = batches.distribute(strategy, options);
        require((*whole.iterator().next())[0].tensor(1).as<int64_t>()[0] == 4, "not the second batch");
        options.weights = {1, 3};
        thrown_by<mdist::Error>([&] { batches.distribute(strategy, options); });
        options = {};
        options.policy = MDIST_SHARD_DATA;
        const std::string text = batches.distribute(strategy, options).explain();
        require(text.find("DATA") != std::string::npos || text.find("data") != std::string::npos, text);
    });
    check("a function makes the dataset, and its exceptions and those of its maps come back", [] {
        auto strategy = strategy_of(2);
        std::vector<int64_t> rows(8);
        std::iota(rows.begin(), rows.end(), 0);
        const auto make = [&](const mdist::InputPipeline &pipeline) {
            require(pipeline.count() == 1 && pipeline.index() == 0 && pipeline.replica_count() == 2,
                    "another pipeline");
            return mdist::Dataset::from_tensors({rows}).batch(pipeline.batch_size(4));
        };
        auto iterator = mdist::Dataset::distribute_from_function(strategy, make).iterator();
        require((*iterator.next())[0].tensor(1).as<int64_t>()[1] == 3, "not the second batch");
        require(iterator.row_counts(strategy) == std::vector<uint64_t>{2, 2}, "other numbers of rows");
        const auto failure = thrown_by<std::domain_error>([&] {
            mdist::Dataset::distribute_from_function(
                strategy, [](const mdist::InputPipeline &) -> mdist::Dataset { throw std::domain_error("no data"); });
        });
        require(failure.what() == std::string("no data"), failure.what());
        const auto bad_map = [&](const mdist::InputPipeline &) {
            return mdist::Dataset::from_tensors({rows})
                .map([](mdist::ConstTensors, mdist::Tensors) { throw std::domain_error("bad row"); },
                     {mdist::Tensor::of<float>({})})
                .batch(2);
        };
        auto failing = mdist::Dataset::distribute_from_function(strategy, bad_map).iterator();
        const auto thrown = thrown_by<std::domain_error>([&] { failing.next(); });
        require(thrown.what() == std::string("bad row"), thrown.what());
    });
    check("a position is saved and restored", [] {
        std::vector<float> rows(9);
        std::iota(rows.begin(), rows.end(), 0.0f);
        const auto dataset = mdist::Dataset::from_tensors({rows}).shuffle(9, 3);
        auto iterator = dataset.iterator();
        iterator.next();
        const std::string text = iterator.save();
        auto again = dataset.iterator();
        again.restore(text);
        require(all_of(std::move(again)) == all_of(std::move(iterator)), "goes on elsewhere");
    });
    check("an owner is kept as long as an element needs its memory, and let go once", [] {
        int gone = 0;
        const std::vector<float> rows(4, 1.0f);
        std::optional<mdist::Dataset> dataset = mdist::Dataset::from_tensors({rows}, Owner(gone)).batch(2);
        auto iterator = std::make_optional(dataset->iterator());
        auto element = iterator->next();
        dataset.reset();
        require(gone == 0 && iterator->next(), "let go with the dataset");
        iterator.reset();
        element.reset();
        require(gone == 1, std::to_string(gone) + " times");
        thrown_by<mdist::Error>([&] { mdist::Dataset::from_tensors({1.0f}, Owner(gone)); });
        require(gone == 2, "kept after a failure");
    });
    check("a map is kept as long as an iterator needs it, and then let go", [] {
        const std::vector<float> rows(4, 1.0f);
        const auto captured = std::make_shared<int>();
        {
            auto iterator = mdist::Dataset::from_tensors({rows})
                                .map([captured](mdist::ConstTensors in,
                                                mdist::Tensors out) { out[0].as<float>()[0] = in[0].item<float>(); },
                                     {mdist::Tensor::of<float>({})})
                                .prefetch(1)
                                .iterator();
            require(iterator.next().has_value() && captured.use_count() == 2, "not kept");
        }
        require(captured.use_count() == 1, "kept for ever");
    });
}

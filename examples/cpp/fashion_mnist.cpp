// SPDX-License-Identifier: Apache-2.0
// The training of ../fashion_mnist in C++, with the same options and bit-identical results. It uses the arithmetic,
// files and options of that program, so this file shows only how to use the library.
#include <cblas.h>

#include <array>
#include <cinttypes>
#include <cstdio>
#include <stdexcept>
#include <string>

#include <mdist/mdist.hpp>

extern "C" {
#include "../fashion_mnist/digest.h"
#include "../fashion_mnist/mnist.h"
#include "../fashion_mnist/model.h"
#include "../fashion_mnist/options.h"
#include "../fashion_mnist/progress.h"
}

namespace {

using Parts = std::array<float *, MODEL_PARTS>;
using Totals = std::array<double, MODEL_TOTALS>;

// ---- Owners of the C parts' memory.

struct Images : MnistSet {
    Images(const char *folder, const char *prefix) : MnistSet{} {
        if (mnist_load(folder, prefix, this) != 0) throw std::runtime_error("no images, no training");
    }
    ~Images() { mnist_free(this); }
    Images(const Images &) = delete;
    Images &operator=(const Images &) = delete;
};

struct Workspace : ModelWorkspace {
    explicit Workspace(size_t max_rows) : ModelWorkspace{} {
        if (model_workspace_create(math_create(-1), max_rows, this) != 0) throw std::bad_alloc();
    }
    ~Workspace() { model_workspace_destroy(this); }
    Workspace(const Workspace &) = delete;
    Workspace &operator=(const Workspace &) = delete;
};

// One vector for each part of the model.
struct PartVectors {
    std::array<mdist::Vector<float>, MODEL_PARTS> vectors;
    Parts pointers{};

    PartVectors() {
        for (size_t i = 0; i < MODEL_PARTS; ++i) {
            vectors[i].resize(model_parts[i].elements);
            pointers[i] = vectors[i].data();
        }
    }
};

// ---- The model on a strategy: mirrored variables, and the memory that each replica works with.

struct ReplicaState {
    Parts parameters{}, momentum{}; // its copies of the variables
    PartVectors gradients;
    Workspace workspace;
    Totals totals{};

    explicit ReplicaState(size_t max_rows) : workspace(max_rows) {}
};

class Trainer {
  public:
    Trainer(mdist::Strategy &strategy, size_t max_rows) : strategy_(strategy) {
        PartVectors initial;
        model_initialise(initial.pointers.data(), 1);
        for (size_t i = 0; i < MODEL_PARTS; ++i) parameters_.push_back(variable(i, "", initial.vectors[i]));
        for (size_t i = 0; i < MODEL_PARTS; ++i) momentum_.push_back(variable(i, "/momentum", {}));
        for (uint32_t i = 0; i < strategy.local_replica_count(); ++i) {
            ReplicaState &state = *replicas_.emplace_back(std::make_unique<ReplicaState>(max_rows));
            for (size_t part = 0; part < MODEL_PARTS; ++part) {
                state.parameters[part] = parameters_[part].tensor(i).as<float>().data();
                state.momentum[part] = momentum_[part].tensor(i).as<float>().data();
            }
        }
    }

    // Runs one step of all replicas on a batch {images, labels}. Totals are over all replicas' rows.
    const Totals &train(const mdist::Values &batch, float rate) {
        strategy_.run(
            [&](mdist::Replica &replica) {
                ReplicaState &mine = *replicas_[replica.local_index()];
                const auto images = replica.argument(0), labels = replica.argument(1);
                model_gradients(mine.parameters.data(), images.as<float>().data(), labels.as<uint8_t>().data(),
                                images.shape[0], &mine.workspace, mine.gradients.pointers.data(), mine.totals.data());

                auto &gradients = mine.gradients.vectors;
                replica.all_reduce(MDIST_SUM, {gradients[0], gradients[1], gradients[2], gradients[3], mine.totals});

                model_update(mine.workspace.math, mine.parameters.data(), mine.momentum.data(),
                             mine.gradients.pointers.data(), &mine.totals[TOTAL_ROWS], rate, 0.9f);
            },
            batch);
        return replicas_[0]->totals;
    }

    const Totals &evaluate(const mdist::Values &batch) {
        strategy_.run(
            [&](mdist::Replica &replica) {
                ReplicaState &mine = *replicas_[replica.local_index()];
                const auto images = replica.argument(0), labels = replica.argument(1);
                model_evaluate(mine.parameters.data(), images.as<float>().data(), labels.as<uint8_t>().data(),
                               images.shape[0], &mine.workspace, mine.totals.data());
                replica.all_reduce(MDIST_SUM, mine.totals);
            },
            batch);
        return replicas_[0]->totals;
    }

    // A checksum over all variables, which must be the same on every replica.
    uint64_t digest() const {
        const uint64_t first = digest_of(*replicas_[0]);
        for (const auto &replica : replicas_)
            if (digest_of(*replica) != first) throw std::runtime_error("the replicas ended with different weights");
        return first;
    }

  private:
    mdist::Variable variable(size_t part, const char *suffix, const mdist::Vector<float> &initial) {
        const ModelPart &is = model_parts[part];
        mdist::ConstTensor tensor = is.rank == 1 ? mdist::ConstTensor::of<float>({is.shape[0]})
                                                 : mdist::ConstTensor::of<float>({is.shape[0], is.shape[1]});
        if (!initial.empty()) tensor.data = const_cast<float *>(initial.data()); // else zeros
        return mdist::Variable(strategy_, std::string(is.name) + suffix, tensor);
    }

    static uint64_t digest_of(const ReplicaState &replica) {
        uint64_t digest = DIGEST_START;
        for (const Parts &parts : {replica.parameters, replica.momentum})
            for (size_t i = 0; i < MODEL_PARTS; ++i)
                digest = digest_add(digest, parts[i], model_parts[i].elements * sizeof(float));
        return digest;
    }

    mdist::Strategy &strategy_;
    std::vector<mdist::Variable> parameters_, momentum_;
    std::vector<std::unique_ptr<ReplicaState>> replicas_;
};

// ---- Input: batches {float32 images, uint8 labels}, divided over the replicas. The images must outlive it.

mdist::Dataset input(mdist::Strategy &strategy, const Images &set, uint64_t batch, uint64_t shuffle_seed) {
    const auto normalise = [](mdist::ConstTensors in, mdist::Tensors out) {
        const auto pixels = in[0].as<uint8_t>(), labels = in[1].as<uint8_t>();
        std::transform(pixels.begin(), pixels.end(), out[0].as<float>().begin(),
                       [](uint8_t pixel) { return static_cast<float>(pixel) * (1.0f / 255.0f); });
        std::copy(labels.begin(), labels.end(), out[1].as<uint8_t>().begin());
    };
    const mdist::Span<const uint8_t> pixels(set.images, set.count * MNIST_PIXELS), labels(set.labels, set.count);
    auto rows = mdist::Dataset::from_tensors({{pixels, {set.count, MNIST_PIXELS}}, labels});
    if (shuffle_seed != 0) rows = rows.shuffle(set.count, shuffle_seed);
    return rows.batch(batch)
        .map(normalise, {mdist::Tensor::of<float>({MDIST_UNKNOWN_LENGTH, MNIST_PIXELS}),
                         mdist::Tensor::of<uint8_t>({MDIST_UNKNOWN_LENGTH})})
        .prefetch(2)
        .distribute(strategy);
}

// Chooses the devices: the environment, then --config, then --replicas, where the last one given wins. The default is
// two replicas.
mdist::Config configure(const Options &options) {
    mdist::Config config;
    if (options.config) config.load(options.config);
    if (options.replicas != 0 || config.get("devices") == "auto")
        config.set("devices", "cpu*" + std::to_string(options.replicas != 0 ? options.replicas : 2));
    return config;
}

void train(Trainer &trainer, const mdist::Dataset &batches, const Options &options, size_t images) {
    const uint64_t all_steps = (images + options.batch - 1) / options.batch * options.epochs;
    uint64_t steps = 0;
    for (uint64_t epoch = 1; epoch <= options.epochs; ++epoch) {
        Progress progress;
        progress_start(&progress, stdout, static_cast<int>(epoch), static_cast<int>(options.epochs), images);
        for (const mdist::Values &batch : batches.iterator()) { // in a new order each time
            const float rate = 0.1f * (1.0f - static_cast<float>(steps) / static_cast<float>(all_steps));
            const Totals &seen = trainer.train(batch, rate);
            progress_add(&progress, static_cast<uint64_t>(seen[TOTAL_ROWS]), seen[TOTAL_LOSS], seen[TOTAL_CORRECT]);
            if (++steps == options.limit_steps) break;
        }
        progress_finish(&progress);
        if (steps == options.limit_steps) return;
    }
}

double accuracy(Trainer &trainer, const mdist::Dataset &batches) {
    double correct = 0, rows = 0;
    for (const mdist::Values &batch : batches.iterator()) {
        const Totals &seen = trainer.evaluate(batch);
        correct += seen[TOTAL_CORRECT];
        rows += seen[TOTAL_ROWS];
    }
    return correct / rows;
}

void work(const Options &options) {
    if (options.checkpoint) throw std::runtime_error("--checkpoint is for the program in C");
    openblas_set_num_threads(1); // with more threads, sums have another order and other bits
    const Images training(options.data, "train"), test(options.data, "t10k");
    mdist::Strategy strategy(configure(options));
    Trainer trainer(strategy, options.batch);
    train(trainer, input(strategy, training, options.batch, 1234), options, training.count);
    const double result = accuracy(trainer, input(strategy, test, options.batch, 0));
    std::printf("weights digest: %016" PRIx64 "\ntest accuracy: %.4f\n", trainer.digest(), result);
}

} // namespace

int main(int argument_count, char **arguments) try {
    Options options;
    const int status = options_parse(argument_count, arguments, &options);
    if (status < 0) work(options);
    return status < 0 ? 0 : status;
} catch (const std::exception &error) {
    std::fprintf(stderr, "fashion_mnist: %s\n", error.what());
    return 1;
}

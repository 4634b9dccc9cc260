// SPDX-License-Identifier: Apache-2.0
// Trains a small convolutional network on Fashion-MNIST with libtorch and mdist::DistributedDataParallel. Workers and
// replicas come from the environment.
//
//     fashion STEPS OPTION...
//
// Options: unused (a layer that only some replicas use), accumulate (two batches for each update), clip, accuracy
// (tests at the end), save (writes the module to a file, and reads it), killed (worker 1
// is killed in its backward pass). Each replica prints the digest of its weights.
// Replica 0 also trains plain libtorch on the whole batches, and prints how much the weights differ.
#include <csignal>
#include <set>
#include <string>

#include "mdist/mdist.hpp"
#include "mdist/torch.hpp"

extern "C" {
#include "mnist.h"
}

namespace {

constexpr int64_t kBatch = 64; // rows of all replicas together
constexpr double kRate = 0.01;

std::set<std::string> options;
bool has(const char *option) {
    return options.count(option) != 0;
}

struct NetImpl : torch::nn::Module {
    NetImpl() {
        first = register_module("first", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 8, 3).stride(2)));
        second = register_module("second", torch::nn::Conv2d(torch::nn::Conv2dOptions(8, 16, 3).stride(2)));
        extra = register_module("extra", torch::nn::Linear(576, 576));
        last = register_module("last", torch::nn::Linear(576, 10));
    }
    torch::Tensor forward(torch::Tensor x, bool with_extra = false) {
        x = torch::relu(second->forward(torch::relu(first->forward(x)))).flatten(1);
        if (with_extra) x = x + extra->forward(x);
        return last->forward(x);
    }
    torch::nn::Conv2d first{nullptr}, second{nullptr};
    torch::nn::Linear extra{nullptr}, last{nullptr};
};
TORCH_MODULE(Net);

struct Images {
    torch::Tensor images, labels;

    explicit Images(const char *prefix) {
        MnistSet set;
        if (mnist_load(MNIST_FOLDER, prefix, &set) != 0) throw std::runtime_error("no images");
        const auto count = static_cast<int64_t>(set.count);
        images = torch::from_blob(set.images, {count, 1, 28, 28}, torch::kByte).to(torch::kFloat) / 255;
        labels = torch::from_blob(set.labels, {count}, torch::kByte).to(torch::kLong);
        mnist_free(&set);
    }
};

// Rows [from, from + count) of a step's batch. The order is that of a fixed permutation.
struct Batches {
    const Images &set;
    torch::Tensor order;

    explicit Batches(const Images &images) : set(images) {
        auto generator = at::detail::createCPUGenerator(5);
        order = torch::randperm(set.labels.size(0), generator, torch::kLong);
    }
    std::pair<torch::Tensor, torch::Tensor> rows(int64_t step, int64_t from, int64_t count) const {
        const int64_t begin = (step * kBatch + from) % (order.size(0) - kBatch);
        const auto chosen = order.narrow(0, begin, count);
        return {set.images.index_select(0, chosen), set.labels.index_select(0, chosen)};
    }
};

bool uses_extra(int64_t step, int64_t replica) {
    return !has("unused") || (step + replica) % 3 == 0;
}
bool waits(int64_t step) {
    return has("accumulate") && step % 2 == 0;
}
torch::optim::SGD optimizer_of(Net &net) {
    return torch::optim::SGD(net->parameters(), torch::optim::SGDOptions(kRate).momentum(0.9));
}
// Ends with small steps, so that the last bits of the weights no longer matter.
void begin_step(torch::optim::SGD &optimizer, int64_t step, int64_t steps) {
    if (!has("accuracy")) return;
    const double rate = kRate * static_cast<double>(steps - step) / static_cast<double>(steps);
    for (auto &group : optimizer.param_groups()) static_cast<torch::optim::SGDOptions &>(group.options()).lr(rate);
}
// Sometimes frees the gradients, and sometimes keeps them.
void end_step(torch::optim::SGD &optimizer, int64_t step) {
    optimizer.step();
    optimizer.zero_grad(step % 3 != 0);
}
torch::Tensor loss_of(Net &net, const std::pair<torch::Tensor, torch::Tensor> &rows, bool with_extra) {
    return torch::cross_entropy_loss(net->forward(rows.first, with_extra), rows.second);
}

uint64_t digest(Net &net) {
    uint64_t hash = 1469598103934665603u; // FNV-1a
    for (const auto &parameter : net->parameters()) {
        const auto *bytes = static_cast<const uint8_t *>(parameter.data_ptr());
        for (size_t i = 0; i < parameter.nbytes(); ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
    }
    return hash;
}

double accuracy(Net &net, const Images &test) {
    const torch::NoGradGuard guard;
    const auto right = net->forward(test.images).argmax(1).eq(test.labels).sum().item<int64_t>();
    return static_cast<double>(right) / static_cast<double>(test.labels.size(0));
}

// One process, plain libtorch, the whole batch in each step.
void train_plain(Net &net, const Batches &batches, int64_t steps, int64_t replicas) {
    auto optimizer = optimizer_of(net);
    for (int64_t step = 0; step < steps; ++step) {
        begin_step(optimizer, step, steps);
        torch::Tensor loss;
        if (has("unused")) { // parts take different ways through the network
            for (int64_t i = 0; i < replicas; ++i) {
                const auto part =
                    loss_of(net, batches.rows(step, i * kBatch / replicas, kBatch / replicas), uses_extra(step, i));
                loss = i == 0 ? part : loss + part;
            }
            loss = loss / replicas;
        } else {
            loss = loss_of(net, batches.rows(step, 0, kBatch), true);
        }
        loss.backward();
        if (waits(step)) continue;
        if (has("clip")) torch::nn::utils::clip_grad_norm_(net->parameters(), 0.5);
        end_step(optimizer, step);
    }
}

void train(mdist::DistributedDataParallel<Net> &model, mdist::Replica &replica, const Batches &batches, int64_t steps) {
    auto local = model.on(replica);
    auto optimizer = optimizer_of(*local);
    const int64_t rows = kBatch / replica.count();
    if (has("killed") && replica.id() == 1) // in the middle of its first backward pass
        (*local)->second->weight.register_hook([](const torch::Tensor &) { std::raise(SIGKILL); });
    for (int64_t step = 0; step < steps; ++step) {
        begin_step(optimizer, step, steps);
        local.synchronize(!waits(step));
        loss_of(*local, batches.rows(step, replica.id() * rows, rows), uses_extra(step, replica.id())).backward();
        if (waits(step)) continue;
        end_step(optimizer, step);
    }
}

// Replica 0's part at the end.
void report(Net &trained, const Net &initial, const Batches &batches, int64_t steps, int64_t replicas) {
    Net plain;
    for (size_t i = 0; i < plain->parameters().size(); ++i)
        plain->parameters()[i].data().copy_(initial->parameters()[i]);
    train_plain(plain, batches, steps, replicas);
    double difference = 0;
    for (size_t i = 0; i < plain->parameters().size(); ++i) {
        const auto apart = (plain->parameters()[i] - trained->parameters()[i]).abs().max().item<double>();
        difference = std::max(difference, apart);
    }
    std::printf("difference %.9f\n", difference);
    if (has("accuracy")) {
        const Images test("t10k");
        std::printf("accuracy %.4f %.4f\n", accuracy(trained, test), accuracy(plain, test));
    }
    if (has("save")) {
        const std::string path =
            std::string(std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "/tmp") + "/mdist-torch.pt";
        torch::save(trained, path);
        Net read;
        torch::load(read, path);
        std::remove(path.c_str());
        std::printf("saved %d\n", digest(read) == digest(trained));
    }
}

int run(int64_t steps) {
    at::set_num_threads(1);
    const Images images("train");
    const Batches batches(images);
    torch::manual_seed(3);
    const Net initial;
    mdist::Strategy strategy;
    mdist::DistributedOptions settings;
    settings.bucket_bytes = 300000;
    settings.clip_norm = has("clip") ? 0.5 : 0;
    settings.find_unused_parameters = has("unused");
    bool first = strategy.rank() == 0; // all other modules get other weights, which the first step replaces
    mdist::DistributedDataParallel<Net> model(
        strategy,
        [&] {
            Net net;
            if (std::exchange(first, false))
                for (size_t i = 0; i < net->parameters().size(); ++i)
                    net->parameters()[i].data().copy_(initial->parameters()[i]);
            return net;
        },
        settings);
    strategy.run([&](mdist::Replica &replica) { train(model, replica, batches, steps); });
    for (uint32_t i = 0; i < strategy.local_replica_count(); ++i)
        std::printf("digest %016llx\n", static_cast<unsigned long long>(digest(model.module(i))));
    if (strategy.rank() == 0) report(model.module(), initial, batches, steps, strategy.replica_count());
    return 0;
}

} // namespace

int main(int argc, char **argv) {
    try {
        for (int i = 2; i < argc; ++i) options.insert(argv[i]);
        return run(argc > 1 ? std::stol(argv[1]) : 20);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "fashion: %s\n", error.what());
        return 1;
    }
}

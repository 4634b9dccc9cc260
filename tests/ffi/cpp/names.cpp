// SPDX-License-Identifier: Apache-2.0
// Steps and updates by name, loops, lent gradients.
#include <cstring>

#include "check.hpp"

namespace {

void check_names() {
    check("steps and updates run by their names, with arguments and results", [] {
        auto strategy = strategy_of(2);
        mdist::Names names(strategy);
        names.step("add", [](mdist::Replica &replica) {
            return std::vector<float>{replica.argument(0).item<float>() + static_cast<float>(replica.id())};
        });
        names.update("subtract", [](uint32_t local, mdist::Tensor copy, mdist::ConstTensors arguments) {
            if (copy.data != nullptr) copy.as<float>()[0] -= arguments[0].item<float>();
            return static_cast<float>(local);
        });
        const auto added = names.run("add", mdist::values(5.0f), 1);
        require(added[0].tensor(0).item<float>() == 5 && added[0].tensor(1).item<float>() == 6, "the step");
        mdist::Variable variable(strategy, "v", 10.0f);
        const auto who = names.update(&variable, "subtract", mdist::values(3.0f), 1);
        require(who[0].tensor(1).item<float>() == 1, "the update's result");
        require(mdist::Variable::find(strategy, "v").tensor(1).item<float>() == 7, "the copy");
        require(names.update(nullptr, "subtract", mdist::values(3.0f), 1)[0].tensor(0).item<float>() == 0,
                "no variable");
    });
    check("what they throw comes back unchanged, and an unknown name lists the known ones", [] {
        auto strategy = strategy_of(2);
        mdist::Names names(strategy);
        names.step("bad", [](mdist::Replica &) { throw std::out_of_range("here"); });
        const auto thrown = thrown_by<std::out_of_range>([&] { names.run("bad"); });
        require(std::strcmp(thrown.what(), "here") == 0, thrown.what());
        const auto unknown = thrown_by<mdist::Error>([&] { names.run("dab"); });
        require(unknown.status() == MDIST_ERR_NOT_FOUND && std::strstr(unknown.what(), "bad"), unknown.what());
        const auto serve = thrown_by<mdist::Error>([&] { names.serve(); });
        require(serve.status() == MDIST_ERR_FAILED_PRECONDITION, serve.what());
        require_usable(strategy);
    });
}

mdist::Iterator batches(mdist::Strategy &strategy, std::vector<float> &rows) {
    return mdist::Dataset::from_tensors({rows}).batch(2).distribute(strategy).iterator();
}

void check_loops() {
    check("a loop collects outputs of its function and its steps", [] {
        auto strategy = strategy_of(2);
        std::vector<float> rows{0, 1, 2, 3, 4, 5};
        auto iterator = batches(strategy, rows);
        int mark = 0;
        const auto loop =
            mdist::run_steps(strategy, iterator, MDIST_FOREVER, [&](mdist::Loop &running, mdist::Value &element) {
                mdist_value_t *const given = element.get();
                require(running.iterations() < 3, "iterations");
                running.set_output("last", element);
                running.set_object("mark", 1, &mark);
                const auto early = thrown_by<mdist::Error>([&] { running.outputs(); });
                require(early.reason() == "loop_running", early.what());
                mdist::detail::BorrowedValues arguments(&given, 1);
                strategy.run(
                    [&](mdist::Replica &replica) {
                        running.set_output(replica, "mean", replica.argument(0), MDIST_AGGREGATION_MEAN);
                    },
                    *arguments);
            });
        require(loop.iterations() == 3 && loop.object("mark", 1) == &mark, "it is not over");
        const auto outputs = loop.outputs();
        require(outputs.at("mean").tensor().as<float>()[0] == 4.5f, "the mean");
        require(outputs.at("last").tensor(1).as<float>()[0] == 5, "the last element");
    });
    check("what its function throws ends it, and comes back", [] {
        auto strategy = strategy_of(2);
        std::vector<float> rows{0, 1};
        auto iterator = batches(strategy, rows);
        thrown_by<std::out_of_range>([&] {
            mdist::run_steps(strategy, iterator, 1,
                             [](mdist::Loop &, mdist::Value &) { throw std::out_of_range("no"); });
        });
        const mdist::Value initial(mdist::leaves("loss", 7.0f));
        const auto loop = mdist::run_steps(
            strategy, iterator, 0, [](mdist::Loop &, mdist::Value &) {}, &initial);
        require(loop.outputs().at("loss").tensor().item<float>() == 7, "the initial output");
    });
}

void check_lent_gradients() {
    check("gradients in the program's own memory are reduced where they lie", [] {
        auto strategy = strategy_of(2);
        float own[2][3] = {{1, 2, 3}, {4, 5, 6}}, moved[2][3] = {{1, 1, 1}, {2, 2, 2}};
        auto gradients = mdist::Gradients::lent(strategy, {own[0], own[1]}, 1);
        const auto round = [&](bool elsewhere) {
            strategy.run([&](mdist::Replica &replica) {
                if (elsewhere)
                    gradients.ready(replica, 0, moved[replica.id()]);
                else
                    gradients.ready(replica, 0);
                gradients.wait(replica);
            });
        };
        round(false);
        for (const auto &one : own) require(one[0] == 5 && one[1] == 7 && one[2] == 9, "lent");
        round(true);
        for (const auto &one : moved) require(one[0] == 3 && one[2] == 3, "said when ready");
        for (uint32_t i = 0; i < 2; ++i) gradients.lend(i, {moved[i]});
        round(false);
        for (const auto &one : moved) require(one[0] == 6, "lent again");
        thrown_by<std::invalid_argument>([&] { mdist::Gradients::lent(strategy, {own[0]}, 1); });
        const auto overlap = thrown_by<mdist::Error>([&] { mdist::Gradients::lent(strategy, {own[0], own[0]}, 1); });
        require(overlap.status() == MDIST_ERR_INVALID_ARGUMENT, overlap.what());
    });
}

} // namespace

void check_names_and_loops() {
    check_names();
    check_loops();
    check_lent_gradients();
}

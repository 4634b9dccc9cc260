// SPDX-License-Identifier: Apache-2.0
// Simulated jobs for tests of how datasets are dealt out: each worker makes its plan alone, and its elements are dealt
// to its replicas here.
#pragma once

#include "data_support.h"

#include "data/distribute/plan.h"
#include "util/text.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

using Rows = std::vector<int64_t>;
using Step = std::vector<Rows>;  // one entry per local replica
using Steps = std::vector<Step>; // of one worker
using Job = std::vector<Steps>;  // one entry per worker
using Make = std::function<std::shared_ptr<const Dataset>()>;

/// As many replicas on each worker.
inline InputLayout even(uint64_t workers, uint64_t worker, uint64_t replicas) {
    return {Spans::even(static_cast<uint32_t>(workers), static_cast<uint32_t>(replicas)),
            static_cast<uint32_t>(worker)};
}

/// The first `limit` steps that `plan` gives to `replicas` replicas; those for whom nothing is left get no rows.
inline Steps dealt(const InputPlan &plan, uint64_t replicas, std::size_t limit = SIZE_MAX) {
    Iterator iterator(plan.parts);
    Steps steps;
    while (steps.size() < limit) {
        const std::vector<Item> parts = items(iterator, replicas);
        if (parts.empty()) return steps;
        steps.emplace_back(replicas);
        for (std::size_t i = 0; i < parts.size(); ++i) steps.back()[i] = parts[i].values;
    }
    return steps;
}

/// All workers of a job, each with a dataset of its own. Those that end early get steps without rows.
inline Job dealt(const Make &make, const Spans &spans, const Dealing &dealing, std::size_t limit = SIZE_MAX) {
    Job job;
    std::size_t most = 0;
    for (uint32_t worker = 0; worker < spans.workers(); ++worker) {
        job.push_back(dealt(make_plan(make(), {spans, worker}, dealing), spans[worker].count(), limit));
        most = std::max(most, job.back().size());
    }
    for (uint32_t worker = 0; worker < spans.workers(); ++worker) job[worker].resize(most, Step(spans[worker].count()));
    return job;
}

inline Job dealt(const Make &make, uint64_t workers, uint64_t replicas, const Dealing &dealing,
                 std::size_t limit = SIZE_MAX) {
    return dealt(make, even(workers, 0, replicas).spans, dealing, limit);
}

/// "[0] [2] | [4] [6] | [8] []"
inline std::string shown(const Steps &steps) {
    std::string all;
    for (std::size_t step = 0; step < steps.size(); ++step) {
        if (step != 0) all += " |";
        for (std::size_t i = 0; i < steps[step].size(); ++i) {
            all += step == 0 && i == 0 ? "[" : " [";
            for (std::size_t row = 0; row < steps[step][i].size(); ++row)
                all += text(row == 0 ? "" : " ", steps[step][i][row]);
            all += "]";
        }
    }
    return all;
}

/// All rows that any replica got.
inline Rows all_rows(const Job &job) {
    Rows rows;
    for (const Steps &steps : job)
        for (const Step &step : steps)
            for (const Rows &part : step) rows.insert(rows.end(), part.begin(), part.end());
    return rows;
}

inline Dealing by(int32_t policy) {
    Dealing dealing;
    dealing.policy = policy;
    return dealing;
}

/// Files of numbers, 8 bytes each, in a folder of their own.
class NumberFiles {
  public:
    NumberFiles() {
        std::string folder = "/tmp/mdist-plan-XXXXXX";
        if (::mkdtemp(folder.data()) != nullptr) folder_ = folder;
    }
    ~NumberFiles() {
        for (const std::string &path : paths_) ::unlink(path.c_str());
        ::rmdir(folder_.c_str());
    }
    NumberFiles(const NumberFiles &) = delete;
    NumberFiles &operator=(const NumberFiles &) = delete;

    /// One more file, of `count` numbers from `first`.
    void add(int64_t first, int64_t count) {
        paths_.push_back(text(folder_, "/", paths_.size()));
        std::ofstream file(paths_.back(), std::ios::binary);
        for (int64_t number = first; number < first + count; ++number)
            file.write(reinterpret_cast<const char *>(&number), sizeof number);
    }
    const std::vector<std::string> &paths() const { return paths_; }
    std::shared_ptr<Dataset> names() const { return make_files(paths_); }

  private:
    std::string folder_;
    std::vector<std::string> paths_;
};

/// The numbers in files called `names`, as scalars.
inline std::shared_ptr<Dataset> numbers_in(std::shared_ptr<const Dataset> names) {
    Reading reading = {};
    reading.format.kind = RecordFormat::Kind::kFixed;
    reading.format.record_bytes = 8;
    reading.format.max_record_bytes = 1 << 20;
    const mdist_tensor_t number = output(MDIST_INT64, {});
    const auto parse = [](const mdist_tensor_t *inputs, std::size_t, const mdist_tensor_t *outputs, std::size_t,
                          void *) -> int32_t {
        std::memcpy(outputs[0].data, inputs[0].data, sizeof(int64_t));
        return 0;
    };
    return make_map(make_records(std::move(names), reading), parse, nullptr, nullptr, &number, 1);
}

/// A map of batches to themselves, behind which their size is not known.
inline std::shared_ptr<Dataset> hidden(std::shared_ptr<const Dataset> batches) {
    const mdist_tensor_t rows = output(MDIST_INT64, {MDIST_UNKNOWN_LENGTH});
    const auto copy = [](const mdist_tensor_t *inputs, std::size_t, const mdist_tensor_t *outputs, std::size_t,
                         void *) -> int32_t {
        if (inputs[0].shape[0] != 0) std::memcpy(outputs[0].data, inputs[0].data, 8 * inputs[0].shape[0]);
        return 0;
    };
    return make_map(std::move(batches), copy, nullptr, nullptr, &rows, 1);
}

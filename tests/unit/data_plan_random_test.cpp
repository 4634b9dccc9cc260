// SPDX-License-Identifier: Apache-2.0
// Random pipelines in random layouts, against a plain model of what each replica gets: lists of numbers, and arithmetic
// on positions. In the long tier ten thousand of them.
#include "plan_support.h"
#include "subject.h"

namespace {

using Batches = std::vector<Rows>;

struct Transformation {
    enum Kind { kTake, kSkip, kRepeat, kFilter, kCache, kShuffleOfOne };
    Kind kind;
    uint64_t count;
};

/// A job by chance.
struct Case {
    std::vector<uint32_t> counts; // of replicas, by worker
    std::vector<uint64_t> files;  // rows of each; none: one array of `rows`
    uint64_t rows;
    std::vector<Transformation> of_names, of_rows, of_batches;
    uint64_t batch;
    bool drop, hides_size;
    int32_t policy, uneven;
    bool by_replica, split;

    bool from_files() const { return !files.empty(); }
    uint64_t workers() const { return counts.size(); }
    uint64_t replicas() const { return first(workers()); }
    uint64_t first(uint64_t worker) const {
        return std::accumulate(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(worker), uint64_t{0});
    }
    bool has(uint64_t worker, uint64_t replica) const {
        return first(worker) <= replica && replica < first(worker + 1);
    }
    bool is_even() const {
        return std::count(counts.begin(), counts.end(), counts[0]) == static_cast<std::ptrdiff_t>(workers());
    }
};

std::vector<Transformation> some(std::mt19937_64 &random, bool filters) {
    std::vector<Transformation> all(random() % 3);
    for (Transformation &one : all) one = {static_cast<Transformation::Kind>(random() % 6), 1 + random() % 6};
    for (Transformation &one : all) {
        if (one.kind == Transformation::kFilter && !filters) one.kind = Transformation::kSkip;
        if (one.kind == Transformation::kRepeat) one.count = 1 + one.count % 3;
        if (one.kind == Transformation::kTake) one.count *= 3;
        if (one.kind == Transformation::kSkip) one.count %= 3;
    }
    return all;
}

Case by_chance(std::mt19937_64 &random) {
    Case job = {};
    job.counts.assign(1 + random() % 3, static_cast<uint32_t>(1 + random() % 3));
    if (random() % 2 == 0)
        for (uint32_t &count : job.counts) count = static_cast<uint32_t>(1 + random() % 3);
    if (random() % 2 == 0) job.files.resize(3 + random() % 7);
    for (uint64_t &rows : job.files) rows = random() % 12;
    job.rows = random() % 50;
    if (job.from_files()) job.of_names = some(random, false);
    job.of_rows = some(random, true);
    job.of_batches = some(random, false);
    job.batch = 1 + random() % 13;
    job.drop = random() % 4 == 0;
    job.hides_size = random() % 4 == 0;
    constexpr int32_t kPolicies[] = {MDIST_SHARD_OFF, MDIST_SHARD_AUTO, MDIST_SHARD_FILE, MDIST_SHARD_DATA,
                                     MDIST_SHARD_MARKED};
    job.policy = kPolicies[random() % 5];
    if (job.policy == MDIST_SHARD_FILE && !job.from_files()) job.policy = MDIST_SHARD_AUTO;
    job.split = random() % 5 != 0;
    job.uneven = job.split && random() % 2 == 0 ? static_cast<int32_t>(random() % 3) : MDIST_UNEVEN_DEFAULT;
    job.by_replica = random() % 3 == 0;
    return job;
}

int32_t keep_odd(const mdist_tensor_t *inputs, std::size_t, int32_t *out, void *) {
    *out = static_cast<int32_t>(*static_cast<const int64_t *>(inputs[0].data) % 2);
    return 0;
}

// The real thing.

std::shared_ptr<const Dataset> transformed(std::shared_ptr<const Dataset> source,
                                           const std::vector<Transformation> &all) {
    for (const Transformation &one : all) switch (one.kind) {
            case Transformation::kTake:
                source = make_take(source, one.count);
                break;
            case Transformation::kSkip:
                source = make_skip(source, one.count);
                break;
            case Transformation::kRepeat:
                source = make_repeat(source, one.count);
                break;
            case Transformation::kFilter:
                source = make_filter(source, keep_odd, nullptr, nullptr);
                break;
            case Transformation::kCache:
                source = make_cache(source);
                break;
            case Transformation::kShuffleOfOne:
                source = make_shuffle(source, 1, one.count, true);
                break;
        }
    return source;
}

/// All files that a job may have: file i of r rows has the numbers from 1000 i.
class FilePool : public NumberFiles {
  public:
    static constexpr uint64_t kFiles = 9, kRows = 12;

    FilePool() {
        for (uint64_t file = 0; file < kFiles; ++file)
            for (uint64_t rows = 0; rows < kRows; ++rows)
                add(static_cast<int64_t>(1000 * file), static_cast<int64_t>(rows));
    }
    std::shared_ptr<Dataset> names_for(const Case &job) const {
        std::vector<std::string> chosen;
        for (uint64_t file = 0; file < job.files.size(); ++file)
            chosen.push_back(paths()[file * kRows + job.files[file]]);
        return make_files(chosen);
    }
};

std::shared_ptr<const Dataset> real(const Case &job, const FilePool &files) {
    auto rows = job.from_files() ? numbers_in(transformed(files.names_for(job), job.of_names))
                                 : std::shared_ptr<const Dataset>(numbers(job.rows));
    rows = transformed(rows, job.of_rows);
    if (job.policy == MDIST_SHARD_MARKED) rows = make_shard(rows, MDIST_ONE_PER_WORKER, 0);
    auto batches = transformed(make_batch(rows, job.batch, job.drop), job.of_batches);
    return job.hides_size ? hidden(batches) : batches;
}

// The model.

template <class T>
std::vector<T> transformed(std::vector<T> list, const std::vector<Transformation> &all, bool odd(const T &)) {
    for (const Transformation &one : all) {
        std::vector<T> next;
        for (uint64_t round = 0; round < (one.kind == Transformation::kRepeat ? one.count : 1); ++round)
            for (std::size_t i = 0; i < list.size(); ++i)
                if (!(one.kind == Transformation::kTake && i >= one.count) &&
                    !(one.kind == Transformation::kSkip && i < one.count) &&
                    !(one.kind == Transformation::kFilter && !odd(list[i])))
                    next.push_back(list[i]);
        list = next;
    }
    return list;
}

bool shares_batches(const Case &job) {
    return job.policy == MDIST_SHARD_DATA || (job.policy == MDIST_SHARD_AUTO && !job.from_files());
}
bool shares_files(const Case &job) {
    return job.policy == MDIST_SHARD_FILE || (job.policy == MDIST_SHARD_AUTO && job.from_files());
}

std::vector<uint64_t> files_read(const Case &job) {
    std::vector<uint64_t> names(job.files.size());
    std::iota(names.begin(), names.end(), 0);
    return transformed<uint64_t>(names, job.of_names, [](const uint64_t &) { return true; });
}

Rows rows_of(const Case &job) {
    Rows rows(job.rows);
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
}

/// A worker's of what all have in common: every so many; by replica where workers have different numbers of them.
template <typename T>
std::vector<T> shard(const Case &job, const std::vector<T> &all, uint64_t worker) {
    std::vector<T> own;
    for (uint64_t i = 0; i < all.size(); ++i)
        if (job.is_even() ? i % job.workers() == worker : job.has(worker, i % job.replicas())) own.push_back(all[i]);
    return own;
}

Rows rows_read(const Case &job, uint64_t worker) {
    Rows rows = job.from_files() ? Rows() : rows_of(job);
    std::vector<uint64_t> names = files_read(job);
    if (shares_files(job)) names = shard(job, names, worker);
    for (const uint64_t file : names)
        for (uint64_t i = 0; i < job.files[file]; ++i) rows.push_back(static_cast<int64_t>(1000 * file + i));
    rows = transformed<int64_t>(rows, job.of_rows, [](const int64_t &row) { return row % 2 == 1; });
    return job.policy == MDIST_SHARD_MARKED ? shard(job, rows, worker) : rows;
}

Batches batches_read(const Case &job, uint64_t worker) {
    const Rows rows = rows_read(job, worker);
    Batches batches;
    for (std::size_t i = 0; i < rows.size(); i += job.batch) {
        const std::size_t end = std::min<std::size_t>(i + job.batch, rows.size());
        if (job.drop && end - i < job.batch) break;
        batches.emplace_back(rows.begin() + static_cast<std::ptrdiff_t>(i),
                             rows.begin() + static_cast<std::ptrdiff_t>(end));
    }
    return transformed<Rows>(batches, job.of_batches, [](const Rows &) { return true; });
}

/// Slice `j` of `n` of a batch, for one who begins to count at slice `turn`.
Rows slice(const Case &job, const Rows &batch, uint64_t j, uint64_t n, uint64_t turn) {
    const uint64_t rows = batch.size();
    uint64_t begin = 0, end = 0;
    if (job.uneven == MDIST_UNEVEN_DEFAULT) {
        const uint64_t most = (rows + n - 1) / n;
        begin = std::min(j * most, rows);
        end = std::min(begin + most, rows);
    } else if (job.uneven == MDIST_UNEVEN_DROP) {
        begin = j * (rows / n);
        end = begin + rows / n;
    } else {
        const auto before = [&](uint64_t k) {
            uint64_t all = 0;
            for (uint64_t i = 0; i < k; ++i) all += rows / n + ((i + turn) % n < rows % n ? 1 : 0);
            return all;
        };
        begin = before(j);
        end = before(j + 1);
    }
    return {batch.begin() + static_cast<std::ptrdiff_t>(begin), batch.begin() + static_cast<std::ptrdiff_t>(end)};
}

/// Rows in a row: sizes that are turned in each step, until a size that is not 0 finds none.
Batches in_a_row(const Case &job, const Batches &batches, uint64_t worker) {
    const uint64_t n = job.replicas(), own = job.counts[worker], turn = job.is_even() ? own : 1;
    Rows rows;
    for (const Rows &batch : batches) rows.insert(rows.end(), batch.begin(), batch.end());
    Batches parts;
    std::size_t at = 0;
    for (uint64_t k = 0;; ++k) {
        const uint64_t share = (job.first(worker) + k % own + k / own * turn) % n;
        const uint64_t size = job.batch / n + (share < job.batch % n ? 1 : 0);
        if (size != 0 && at == rows.size()) return parts;
        const std::size_t end = std::min<std::size_t>(at + size, rows.size());
        parts.emplace_back(rows.begin() + static_cast<std::ptrdiff_t>(at),
                           rows.begin() + static_cast<std::ptrdiff_t>(end));
        if (end - at < size) return parts;
        at = end;
    }
}

/// What a batch, or element, number `j` of those that all workers see is to this worker.
bool is_own(const Case &job, uint64_t j, uint64_t worker) {
    if (job.by_replica || !job.is_even()) return job.has(worker, j % job.replicas());
    return j % job.workers() == worker;
}

Batches expected_parts(const Case &job, uint64_t worker) {
    const uint64_t n = job.replicas();
    const Batches batches = batches_read(job, worker);
    if (n == 1) return batches;
    Batches parts;
    if (!job.split) {
        for (uint64_t j = 0; j < batches.size(); ++j)
            if (!shares_batches(job) || is_own(job, j, worker)) parts.push_back(batches[j]);
        return parts;
    }
    // Behind the map only a batch without remainder has a size that is known.
    const bool size_known = !job.hides_size || job.drop;
    if (!shares_batches(job) && size_known && job.uneven == MDIST_UNEVEN_DEFAULT) return in_a_row(job, batches, worker);
    for (const Rows &batch : batches) {
        if (job.uneven == MDIST_UNEVEN_DROP && batch.size() < n) continue;
        for (uint64_t j = 0; j < n; ++j) {
            if (!shares_batches(job))
                parts.push_back(slice(job, batch, j, n, job.first(worker)));
            else if (is_own(job, j, worker))
                parts.push_back(slice(job, batch, j, n, 0));
        }
    }
    return parts;
}

Steps expected(const Case &job, uint64_t worker) {
    const Batches parts = expected_parts(job, worker);
    const std::size_t own = job.counts[worker];
    Steps steps((parts.size() + own - 1) / own, Step(own));
    for (std::size_t i = 0; i < parts.size(); ++i) steps[i / own][i % own] = parts[i];
    return steps;
}

// Both.

uint64_t least_to_share(const Case &job) {
    return job.is_even() ? job.workers() : job.first(job.workers() - 1) + 1;
}

bool countable(const Case &job) {
    const auto filters = [](const Transformation &one) { return one.kind == Transformation::kFilter; };
    return !job.from_files() && std::none_of(job.of_rows.begin(), job.of_rows.end(), filters);
}

/// Of what a hint shares out there must be enough for all workers, or none.
bool hint_lacks(const Case &job) {
    if (job.policy != MDIST_SHARD_MARKED) return false;
    Case all = job;
    all.policy = MDIST_SHARD_OFF;
    const std::size_t count = rows_read(all, 0).size();
    return count != 0 && count < least_to_share(job);
}

/// Of files there must be enough for all workers.
bool too_few(const Case &job) {
    if (shares_files(job)) return files_read(job).size() < least_to_share(job);
    return countable(job) && hint_lacks(job);
}

Dealing dealing_of(const Case &job) {
    Dealing dealing = by(job.policy);
    dealing.uneven = job.uneven;
    dealing.by_replica = job.by_replica;
    dealing.split = job.split;
    return dealing;
}

/// "" where the job comes out as the model has it.
std::string difference(const Case &job, const FilePool &files) {
    for (uint32_t worker = 0; worker < job.workers(); ++worker) {
        InputPlan plan;
        const Failure failure = failure_of([&] {
            plan = make_plan(real(job, files), {Spans(job.counts), worker}, dealing_of(job));
        });
        if (failure.reason() == "too_few_elements" && !job.split)
            return ""; // elements are counted in tests of examples
        if (too_few(job) != (failure.status() == MDIST_ERR_FAILED_PRECONDITION)) return "too few: " + failure.message();
        if (failure.status() != MDIST_OK) continue;
        std::string got;
        const Failure later = failure_of([&] { got = shown(dealt(plan, job.counts[worker])); });
        if (later.reason() == "too_few_elements" && !job.split) return ""; // likewise
        if (hint_lacks(job) != (later.reason() == "too_few_elements")) return "too few when read: " + later.message();
        if (hint_lacks(job)) continue;
        if (later.status() != MDIST_OK) return later.message();
        const std::string wanted = shown(expected(job, worker));
        if (got != wanted) return text("worker ", worker, " got ", got, "\nand not ", wanted, "\n", plan.text);
    }
    return "";
}

void random_jobs_come_out_as_the_model_has_them(void **) {
    const FilePool files;
    for (const uint32_t seed : seeds(1000, 10'000)) {
        std::mt19937_64 random(seed);
        const std::string problem = difference(by_chance(random), files);
        if (!problem.empty()) fail_msg("seed %s: %s", std::to_string(seed).c_str(), problem.c_str());
    }
}

/// Neither lost nor seen twice, over all workers and replicas.
void every_row_goes_to_one_replica(void **) {
    std::mt19937_64 random(test_seed(99));
    for (int round = 0; round < 100; ++round) {
        NumberFiles files;
        Rows all;
        for (int64_t file = 0; file < 7; ++file) {
            const auto rows = static_cast<int64_t>(random() % 20);
            files.add(100 * file, rows);
            for (int64_t row = 0; row < rows; ++row) all.push_back(100 * file + row);
        }
        Dealing dealing = by(random() % 2 == 0 ? MDIST_SHARD_FILE : MDIST_SHARD_DATA);
        dealing.by_replica = random() % 2 == 0;
        if (random() % 2 == 0) dealing.uneven = MDIST_UNEVEN_SPREAD;
        const uint64_t batch = 1 + random() % 12;
        std::vector<uint32_t> counts(1 + random() % 3, static_cast<uint32_t>(1 + random() % 3));
        if (random() % 2 == 0) counts.back() = static_cast<uint32_t>(1 + random() % 3);
        const Spans spans(counts);
        if (dealing.uneven == MDIST_UNEVEN_DEFAULT && random() % 2 == 0)
            for (uint64_t i = 0; i < spans.replicas(); ++i) dealing.weights.push_back(1 + static_cast<double>(i % 3));
        const Make make = [&] {
            return make_batch(make_shuffle(numbers_in(make_shuffle(files.names(), 9, 3, true)), 16, 5, true), batch,
                              false);
        };
        Rows got;
        // Of few rows there may be none for some worker, which the plan refuses.
        const Failure failure = failure_of([&] { got = all_rows(dealt(make, spans, dealing)); });
        if (failure.status() == MDIST_ERR_INVALID_ARGUMENT && !dealing.weights.empty()) continue;
        std::sort(got.begin(), got.end());
        assert_true(got == all);
    }
}

} // namespace

SUBJECT(data_plan_random) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(random_jobs_come_out_as_the_model_has_them),
        cmocka_unit_test(every_row_goes_to_one_replica),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// SPDX-License-Identifier: Apache-2.0
// Sources and transforms of datasets.
#include <cstdio>

#include "check.hpp"
#include "folder.hpp"

namespace {

using Numbers = std::vector<int64_t>;

Numbers numbers(const mdist::Dataset &dataset, size_t component = 0) {
    Numbers all;
    auto iterator = dataset.iterator();
    for (const mdist::Values &element : iterator) {
        const auto part = element[component].tensor().as<int64_t>();
        all.insert(all.end(), part.begin(), part.end());
    }
    return all;
}

std::vector<std::string> texts(const mdist::Dataset &dataset) {
    std::vector<std::string> all;
    auto iterator = dataset.iterator();
    for (const mdist::Values &element : iterator) {
        const auto bytes = element[0].tensor().as<uint8_t>();
        all.emplace_back(bytes.begin(), bytes.end());
    }
    return all;
}

void write_file(const std::string &path, const std::string &content) {
    FILE *file = std::fopen(path.c_str(), "wb");
    require(file != nullptr && std::fwrite(content.data(), 1, content.size(), file) == content.size(), path);
    std::fclose(file);
}

} // namespace

void check_datasets() {
    check("datasets are chosen, joined and cut", [] {
        const auto five = mdist::Dataset::range(0, 5);
        require(numbers(mdist::Dataset::range(5, -2, -3)) == Numbers{5, 2, -1}, "range");
        require(numbers(five.take(2)) == Numbers{0, 1} && numbers(five.skip(3)) == Numbers{3, 4}, "take, skip");
        const auto odd = five.filter([](mdist::ConstTensors in) { return in[0].item<int64_t>() % 2 == 1; });
        require(numbers(odd) == Numbers{1, 3}, "filter");
        require(numbers(odd.concatenate(five.take(1))) == Numbers{1, 3, 0}, "concatenate");
        require(numbers(mdist::Dataset::zip({&odd, &five}), 1) == Numbers{0, 1}, "zip");
        require(numbers(five.batch(3).unbatch().cache()) == Numbers{0, 1, 2, 3, 4}, "unbatch, cache");
        require((*five.batch(4).rebatch({1, 2}).iterator().next())[0].tensor().elements() == 1, "rebatch");
        const auto ragged = five.batch(5).rebatch({1, 4});
        require(numbers(ragged.padded_batch(2)) == Numbers{0, 0, 0, 0, 1, 2, 3, 4}, "padded_batch");
        const int64_t padding = -1;
        mdist::ConstTensor padded = mdist::ConstTensor::of<int64_t>({MDIST_UNKNOWN_LENGTH});
        padded.data = const_cast<int64_t *>(&padding);
        require(numbers(ragged.padded_batch(2, false, {padded})) == Numbers{0, -1, -1, -1, 1, 2, 3, 4}, "paddings");
    });
    check("exceptions of filters and maps in joined datasets come back", [] {
        const auto good = mdist::Dataset::range(0, 5).filter([](mdist::ConstTensors) { return true; });
        const auto bad =
            mdist::Dataset::range(0, 5).filter([](mdist::ConstTensors) -> bool { throw std::domain_error("bad row"); });
        for (const auto &dataset : {good.concatenate(bad), mdist::Dataset::zip({&good, &bad})}) {
            const auto thrown = thrown_by<std::domain_error>([&] { numbers(dataset); });
            require(thrown.what() == std::string("bad row"), thrown.what());
        }
    });
    check("a generator begins anew in every epoch, is let go, and its exceptions come back", [] {
        const auto alive = std::make_shared<int>();
        const auto count_to = [alive](int64_t end) {
            return mdist::Dataset::from_generator(
                [alive, end] {
                    return [alive, end, i = int64_t{0}](mdist::Tensors out) mutable {
                        if (i == 3) throw std::domain_error("three is too much");
                        out[0].as<int64_t>()[0] = i;
                        return i++ < end;
                    };
                },
                {mdist::Tensor::of<int64_t>({})});
        };
        require(numbers(count_to(2).repeat(2)) == Numbers{0, 1, 0, 1}, "two epochs");
        const auto thrown = thrown_by<std::domain_error>([&] { numbers(count_to(9)); });
        require(thrown.what() == std::string("three is too much"), thrown.what());
        const auto refused = thrown_by<mdist::Error>([&] { count_to(2).prefetch(1).iterator().next(); });
        require(refused.reason() == "callers_thread", refused.what());
        require(alive.use_count() == 2, std::to_string(alive.use_count()) + " are kept");
    });
    check("files are matched, read and written", [] {
        const Folder folder;
        write_file(folder / "part-0.txt", "a\nbc\r\n");
        write_file(folder / "part-1.txt", "d");
        const auto names = mdist::Dataset::match_files({folder / "part-?.txt"});
        require(texts(names.text_lines()) == std::vector<std::string>{"a", "bc", "d"}, "lines");
        mdist::ReadOptions options;
        options.cycle_length = 2;
        require(texts(names.text_lines(options)) == std::vector<std::string>{"a", "d", "bc"}, "turns");
        write_file(folder / "fixed", "HHabcdefF");
        const auto fixed = mdist::Dataset::files({folder / "fixed"}).fixed_records(3, 2, 1);
        require(texts(fixed) == std::vector<std::string>{"abc", "def"}, "fixed records");
        const auto none = thrown_by<mdist::Error>([&] { mdist::Dataset::match_files({folder / "none-*"}); });
        require(none.status() == MDIST_ERR_NOT_FOUND, none.what());

        const std::string path = folder / "records";
        options = {};
        options.compression = MDIST_COMPRESSION_GZIP;
        mdist::RecordWriter writer(path, options.compression);
        writer.write("first");
        writer.write(std::vector<uint8_t>{});
        require(std::fopen(path.c_str(), "rb") == nullptr, "there before it is closed");
        writer.close();
        const auto files = mdist::Dataset::files({path});
        require(texts(files.tfrecords(options)) == std::vector<std::string>{"first", ""}, "records");
        const auto corrupt = thrown_by<mdist::Error>([&] { texts(files.tfrecords()); });
        require(corrupt.status() == MDIST_ERR_DATA_LOSS, corrupt.what());
        options = {};
        options.on_corrupt = MDIST_ON_CORRUPT_SKIP;
        auto iterator = files.tfrecords(options).iterator();
        require(!iterator.next() && iterator.skipped() == 1, "not skipped");
    });
}

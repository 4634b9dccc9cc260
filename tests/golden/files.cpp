// SPDX-License-Identifier: Apache-2.0
#include "files.h"

#include "dataset.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>

namespace golden {
namespace {

const std::map<std::string, std::vector<int64_t>> kSets = {
    {"f1", {7}},          {"f2", {7, 7}},          {"f3", {5, 7, 4}},
    {"f4", {3, 0, 6, 2}}, {"f5", {1, 2, 3, 4, 5}}, {"f6", {4, 4, 4, 4, 4, 4}},
    {"f2u", {11, 2}}};

std::string name_of(const std::string &folder, const std::string &kind, const std::string &set, std::size_t file) {
    return folder + "/" + kind + "-" + set + "-" + std::to_string(file);
}

void write_records(const std::string &path, int32_t compression, int64_t first, int64_t count) {
    mdist_record_writer_t *writer = nullptr;
    const mdist_record_writer_options_t options = {sizeof options, compression};
    ok([&](mdist_error_t **error) { return mdist_record_writer_create(path.c_str(), &writer, &options, error); });
    for (int64_t number = first; number < first + count; ++number)
        ok([&](mdist_error_t **error) { return mdist_record_writer_write(writer, &number, sizeof number, error); });
    ok([&](mdist_error_t **error) { return mdist_record_writer_close(writer, error); });
    mdist_record_writer_destroy(writer);
}

} // namespace

std::vector<std::string> names_of(const std::string &folder, const std::string &kind, const std::string &set) {
    std::vector<std::string> names;
    for (std::size_t file = 0; file < kSets.at(set).size(); ++file) names.push_back(name_of(folder, kind, set, file));
    return names;
}

void write_files(const std::string &folder) {
    for (const auto &[set, counts] : kSets)
        for (std::size_t file = 0; file < counts.size(); ++file) {
            const int64_t first = 100 * (static_cast<int64_t>(file) + 1);
            std::ofstream text(name_of(folder, "text", set, file)), fixed(name_of(folder, "fixed", set, file));
            for (int64_t number = first; number < first + counts[file]; ++number) {
                text << number << std::string(static_cast<std::size_t>(number % 4), 'x') << '\n';
                fixed.write(reinterpret_cast<const char *>(&number), sizeof number);
            }
            write_records(name_of(folder, "tfrecord", set, file), MDIST_COMPRESSION_NONE, first, counts[file]);
            write_records(name_of(folder, "tfrecord_gz", set, file), MDIST_COMPRESSION_GZIP, first, counts[file]);
        }
}

void remove_files(const std::string &folder) {
    std::filesystem::remove_all(folder);
}

} // namespace golden

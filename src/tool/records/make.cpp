// SPDX-License-Identifier: Apache-2.0
#include "records/idx.h"
#include "records/records.h"

#include <cstdio>
#include <iostream>
#include <stdexcept>

namespace mdist {
namespace {

std::string shard_path(const std::string &prefix, uint32_t index, uint32_t shards) {
    char end[64];
    std::snprintf(end, sizeof end, "-%05u-of-%05u.tfrecord", index, shards);
    return prefix + end;
}

std::vector<RecordWriterHandle> open_shards(const RecordsOptions &options) {
    std::vector<RecordWriterHandle> shards;
    const mdist_record_writer_options_t written = {sizeof written,
                                                   options.gzip ? MDIST_COMPRESSION_GZIP : MDIST_COMPRESSION_NONE};
    for (uint32_t i = 0; i < options.shards; ++i) {
        mdist_record_writer_t *writer = nullptr;
        mdist_error_t *error = nullptr;
        const std::string path = shard_path(options.out, i, options.shards);
        require_ok(mdist_record_writer_create(path.c_str(), &writer, &written, &error), error);
        shards.emplace_back(writer);
    }
    return shards;
}

} // namespace

int make_records(const RecordsOptions &options) {
    IdxFile images(options.images), labels(options.labels);
    if (images.count() != labels.count())
        throw std::runtime_error(images.path() + " has " + std::to_string(images.count()) + " items and " +
                                 labels.path() + " has " + std::to_string(labels.count()) +
                                 "; both files need the same number of items");
    const std::vector<RecordWriterHandle> shards = open_shards(options);
    mdist_error_t *error = nullptr;
    std::string record;
    for (uint64_t i = 0; i < images.count(); ++i) {
        record = images.next();
        record += labels.next();
        require_ok(mdist_record_writer_write(shards[i % shards.size()].get(), record.data(), record.size(), &error),
                   error);
    }
    images.end();
    labels.end();
    for (const RecordWriterHandle &shard : shards) require_ok(mdist_record_writer_close(shard.get(), &error), error);
    std::cout << images.count() << " records of " << images.item_bytes() + labels.item_bytes() << " bytes in "
              << shards.size() << (shards.size() == 1 ? " file: " : " files: ")
              << shard_path(options.out, 0, options.shards) << (shards.size() == 1 ? "\n" : " ...\n");
    return 0;
}

} // namespace mdist

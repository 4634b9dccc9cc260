// SPDX-License-Identifier: Apache-2.0
#include "data/files/record_writer.h"

#include <mdist/dataset_sources.h>

#include <memory>

#include "api/check.h"
#include "api/guard.h"
#include "api/handle.h"
#include "device/transfer/transfer.h"
#include "util/text.h"

using namespace mdist;

mdist_status_t mdist_record_writer_create(const char *path, mdist_record_writer_t **out,
                                          const mdist_record_writer_options_t *options, mdist_error_t **error) {
    return guard("mdist_record_writer_create", error, [&] {
        need(path, "path");
        need(out, "out");
        const int32_t compression = read_options(options, "mdist_record_writer_options_t").compression;
        if (compression < MDIST_COMPRESSION_NONE || compression > MDIST_COMPRESSION_ZLIB)
            throw invalid(text("options.compression is ", compression, "; it must be an mdist_compression_t, 0 to 2"));
        *out = publish<mdist_record_writer_t>(std::make_shared<RecordWriter>(path, compression));
    });
}

mdist_status_t mdist_record_writer_write(mdist_record_writer_t *writer, const void *data, size_t bytes,
                                         mdist_error_t **error) {
    return guard("mdist_record_writer_write", error, [&] {
        const auto pinned = pin(writer);
        if (bytes != 0) need(data, "data");
        need_on_host(data, "data");
        pinned->write(data, bytes);
    });
}

mdist_status_t mdist_record_writer_close(mdist_record_writer_t *writer, mdist_error_t **error) {
    return guard("mdist_record_writer_close", error, [&] { pin(writer)->close(); });
}

void mdist_record_writer_destroy(mdist_record_writer_t *writer) {
    give_up(writer);
}

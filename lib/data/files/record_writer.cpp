// SPDX-License-Identifier: Apache-2.0
#include "data/files/record_writer.h"

#include "data/current_failure.h"
#include "data/files/tfrecord.h"
#include "util/forced_unwind.h"
#include "util/text.h"
#include "util/utf8.h"

#include <mdist/dataset_sources.h>

#include <utility>

namespace mdist {

RecordWriter::RecordWriter(const std::string &path, int32_t compression) : path_(path), sink_(create_file(path)) {
    if (compression != MDIST_COMPRESSION_NONE) sink_ = pack(std::move(sink_), compression);
}

/// Does `work`. If it fails, the writer is finished: the file may end with half a record, so nothing may follow.
void RecordWriter::guarded(FunctionRef<void()> work) {
    try {
        work();
    } catch (...) {
        failure_.emplace(thread_is_ending() ? thread_ended() : current_failure());
        sink_.reset();
        rethrow();
    }
}

void RecordWriter::write(const void *data, std::size_t bytes) {
    using namespace tfrecord;
    char header[kHeader], footer[kChecksum];
    write_number(header, kLength, bytes);
    write_number(header + kLength, kChecksum, checksum(header, kLength));
    write_number(footer, kChecksum, checksum(data, bytes));
    const std::lock_guard lock(mutex_);
    if (failure_) throw Failure(*failure_);
    if (sink_ == nullptr)
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      text("the writer of ", in_quotes(path_), " was closed; make a new one"))
            .reason("closed");
    guarded([&] {
        sink_->write(header, kHeader);
        sink_->write(static_cast<const char *>(data), bytes);
        sink_->write(footer, kChecksum);
    });
}

void RecordWriter::close() {
    const std::lock_guard lock(mutex_);
    if (failure_) throw Failure(*failure_);
    if (sink_ == nullptr) return;
    guarded([&] { sink_->finish(); });
    sink_.reset();
}

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
#include "data/files/record_file.h"

#include "util/failure.h"
#include "util/log.h"

namespace mdist {
namespace {

class OpenRecords final : public RecordFile {
  public:
    OpenRecords(const std::string &path, const Reading &reading)
        : skip_corrupt_(reading.skip_corrupt), records_(make_file_records(reading.format, open_file(path), path)) {}

    bool next(Tensor &record, Room *room, uint64_t &left_out) override {
        for (;;) {
            try {
                return records_->next(record, room);
            } catch (const Failure &failure) {
                if (!skip_corrupt_ || failure.status() != MDIST_ERR_DATA_LOSS) throw;
                if (!told_)
                    log_warn("skipped corrupt data: ", failure.message(),
                             ". Further cases in this file are only counted");
                told_ = true;
                ++left_out;
            }
        }
    }

  private:
    bool skip_corrupt_;
    std::unique_ptr<Records> records_;
    bool told_ = false;
};

} // namespace

std::unique_ptr<RecordFile> open_record_file(const std::string &path, const Reading &reading) {
    return std::make_unique<OpenRecords>(path, reading);
}

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
// Datasets of the records of files. Several files may be open at a time; they take turns.
#include "data/files/read_ahead.h"
#include "data/sources.h"
#include "util/failure.h"
#include "util/text.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace mdist {
namespace {

std::string described(const Reading &reading) {
    const RecordFormat &format = reading.format;
    std::string all = format.kind == RecordFormat::Kind::kLines ? "text_lines("
                      : format.kind == RecordFormat::Kind::kFixed
                          ? text("fixed_records(", format.record_bytes, " bytes, ")
                          : "tfrecords(";
    if (format.compression != MDIST_COMPRESSION_NONE)
        all += format.compression == MDIST_COMPRESSION_GZIP ? "gzip, " : "zlib, ";
    if (reading.skip_corrupt) all += "without corrupt ones, ";
    if (reading.block_length != 1) all += text(reading.block_length, " records in turn, ");
    return text(all, reading.cycle_length, reading.cycle_length == 1 ? " file" : " files", " at a time)");
}

class ReadFiles final : public Streamed<ReadFiles, class ReadStream> {
  public:
    ReadFiles(std::shared_ptr<const Dataset> files, const Reading &reading)
        : Streamed(std::move(files), {record_spec(reading.format)}), reading_(reading) {}

    Traits traits() const override {
        const RecordFormat &format = reading_.format;
        const std::string called = described(reading_);
        return {.text = called,
                .identity = text(called, " between ", format.header_bytes, " and ", format.footer_bytes, " bytes"),
                .role = Traits::Role::kReader};
    }
    /// An endless dataset of names does not count: its files may have no records, which is a failure.
    bool endless() const override { return false; }
    const Reading &reading() const { return reading_; }

  private:
    static Spec record_spec(const RecordFormat &format) {
        const bool fixed = format.kind == RecordFormat::Kind::kFixed;
        Spec spec;
        spec.dtype = MDIST_UINT8;
        spec.shape = Shape().with_first(fixed ? format.record_bytes : Spec::kUnknown);
        return spec;
    }

    Reading reading_;
};

class ReadStream final : public Stream {
  public:
    ReadStream(std::shared_ptr<const ReadFiles> dataset, const Iteration &iteration)
        : Stream(iteration),
          dataset_(std::move(dataset)),
          skipped_(iteration.skipped),
          files_(dataset_->source().open(iteration)),
          open_(dataset_->reading().cycle_length) {
        if (const uint64_t files = dataset_->reading().parallel_files; files != 0)
            ahead_.emplace(std::min<uint64_t>(files, open_.size()), iteration);
    }

  private:
    // Works like TensorFlow's interleave. A place of the cycle whose file has ended passes its turn on. It gets the
    // next file when its turn comes again.
    bool produce(Element &out) override { return read(nullptr, out) != Got::kEnd; }
    bool fills_rooms() const override { return !ahead_.has_value(); }
    Got produce_into(Room &room, Element &out) override { return read(&room, out); }
    Got read(Room *room, Element &out) {
        while (open_count_ != 0 || !no_more_files_) {
            std::unique_ptr<RecordFile> &here = open_[turn_];
            if (here == nullptr && (no_more_files_ || !open_next(here))) {
                pass();
                continue;
            }
            Tensor record;
            if (next(*here, record, room)) {
                without_records_ = 0;
                if (++taken_ == dataset_->reading().block_length) pass();
                if (!record.defined()) return Got::kBytes;
                out = Element(std::move(record));
                return Got::kElement;
            }
            here.reset();
            --open_count_;
            check_end();
            pass();
        }
        return Got::kEnd;
    }

    bool next(RecordFile &file, Tensor &record, Room *room) {
        struct Count { // counts them even if a failure follows
            std::atomic<uint64_t> *all;
            uint64_t left_out = 0;
            ~Count() {
                if (left_out != 0 && all != nullptr) all->fetch_add(left_out, std::memory_order_relaxed);
            }
        } count{skipped_.get()};
        return file.next(record, room, count.left_out);
    }

    /// Endless names of files without records would keep the caller here forever.
    void check_end() {
        if (++without_records_ < kMostWithoutRecords) return;
        throw Failure(MDIST_ERR_DATA_LOSS, text(without_records_,
                                                " files in a row held no records. To read files again, repeat the "
                                                "dataset of records, not the dataset of names"));
    }

    bool open_next(std::unique_ptr<RecordFile> &place) {
        Element name;
        if (!files_->next(name)) {
            no_more_files_ = true;
            return false;
        }
        place = open_record_file(std::string(name.data(0), name.bytes(0)), dataset_->reading());
        if (ahead_) place = ahead_->ahead(std::move(place));
        ++open_count_;
        return true;
    }

    void pass() {
        turn_ = (turn_ + 1) % open_.size();
        taken_ = 0;
    }

    void rewind() override {
        files_->restart();
        for (auto &place : open_) place.reset();
        open_count_ = turn_ = 0;
        taken_ = 0;
        no_more_files_ = false;
    }

    static constexpr uint64_t kMostWithoutRecords = 1 << 20;

    std::shared_ptr<const ReadFiles> dataset_;
    std::shared_ptr<std::atomic<uint64_t>> skipped_;
    std::unique_ptr<Stream> files_;
    std::optional<ReadAhead> ahead_;                // none: the thread that asks reads
    std::vector<std::unique_ptr<RecordFile>> open_; // a place may be empty
    std::size_t open_count_ = 0;
    std::size_t turn_ = 0;
    uint64_t taken_ = 0;           // records taken in this turn
    uint64_t without_records_ = 0; // files in a row that had none
    bool no_more_files_ = false;
};

void check_names(const Dataset &files) {
    const Spec &name = files.spec()[0];
    if (files.component_count() != 1 || name.dtype != MDIST_UINT8 || name.shape.rank != 1)
        throw invalid(
            "the elements of this dataset are not file names. Each must be one uint8 tensor [length], as from "
            "mdist_dataset_files and mdist_dataset_text_lines");
}

/// A larger size must be a mistake.
constexpr uint64_t kMostRecordBytes = uint64_t{1} << 40;

void check_format(const RecordFormat &format) {
    if (format.max_record_bytes > kMostRecordBytes)
        throw invalid(text("max_record_bytes is ", format.max_record_bytes, "; the maximum is ", kMostRecordBytes));
    if (format.kind != RecordFormat::Kind::kFixed) return;
    if (format.record_bytes == 0 || format.record_bytes > format.max_record_bytes)
        throw invalid(text("record_bytes is ", format.record_bytes, "; it must be 1 to ", format.max_record_bytes,
                           " (max_record_bytes)"));
    if (format.header_bytes > kMostRecordBytes || format.footer_bytes > format.max_record_bytes)
        throw invalid(text("header_bytes is ", format.header_bytes, " and footer_bytes is ", format.footer_bytes,
                           "; they must be at most ", kMostRecordBytes, " and ", format.max_record_bytes));
}

} // namespace

std::shared_ptr<Dataset> make_records(std::shared_ptr<const Dataset> files, const Reading &reading) {
    constexpr uint64_t kMostFiles = 1024;
    if (reading.cycle_length == 0 || reading.cycle_length > kMostFiles)
        throw invalid(
            text("cycle_length is ", reading.cycle_length, "; up to ", kMostFiles, " files may be open at a time"));
    if (reading.parallel_files > kMostFiles)
        throw invalid(text("parallel_files is ", reading.parallel_files, "; the maximum is ", kMostFiles));
    check_names(*files);
    check_format(reading.format);
    return std::make_shared<ReadFiles>(std::move(files), reading);
}

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
#include "data/files/read_ahead.h"

#include "data/current_failure.h"
#include "util/forced_unwind.h"

#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace mdist {
namespace {

struct Read {
    Tensor record;
    uint64_t left_out = 0; // corrupt records before it
};

/// Consecutive records and, if the file ends after them, how it ends. Its parts change hands without being copied.
struct Stretch {
    std::list<Read> records = {};
    std::size_t bytes = 0; // in these records
    bool ended = false;
    uint64_t left_out = 0; // corrupt records before the end
    std::optional<Failure> failure = std::nullopt;

    void append(Stretch next) {
        records.splice(records.end(), next.records);
        bytes += next.bytes;
        ended = next.ended;
        left_out = next.left_out;
        failure.swap(next.failure);
    }
};

/// The state between a file and the thread that takes its records. The thread that has set `busy` owns the file. The
/// readers' lock guards everything else.
struct Ahead {
    std::unique_ptr<RecordFile> file;
    Stretch ready = {};
    bool busy = false;
    bool ended = false; // read to its end
};

constexpr std::size_t kChunkRecords = 64, kChunkBytes = 256 << 10;                          // read in one go
constexpr std::size_t kMostRecords = 16 * kChunkRecords, kMostBytesAhead = 4 * kChunkBytes; // read ahead of one file

void read_chunk(RecordFile &file, Stretch &chunk) {
    try {
        while (chunk.records.size() < kChunkRecords && chunk.bytes < kChunkBytes) {
            Read next;
            if (!file.next(next.record, nullptr, chunk.left_out)) {
                chunk.ended = true;
                return;
            }
            next.left_out = std::exchange(chunk.left_out, 0);
            chunk.bytes += next.record.bytes();
            chunk.records.push_back(std::move(next));
        }
    } catch (...) {
        const bool ending = thread_is_ending();
        chunk.ended = true;
        chunk.failure.emplace(ending ? thread_ended() : current_failure());
        if (ending) rethrow();
    }
}

} // namespace

class ReadAhead::Readers final : public StreamWork {
  public:
    void run() override {
        while (const std::shared_ptr<Ahead> ahead = begin()) {
            Stretch chunk;
            try {
                read_chunk(*ahead->file, chunk);
            } catch (...) { // this thread ends
                hand_over(*ahead, std::move(chunk));
                rethrow();
            }
            hand_over(*ahead, std::move(chunk));
        }
    }

    void stop() override {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        working_.notify_all();
        taking_.notify_all();
    }

    void add(std::shared_ptr<Ahead> ahead) {
        const std::lock_guard lock(mutex_);
        files_.push_back(std::move(ahead));
        working_.notify_one();
    }

    void remove(const std::shared_ptr<Ahead> &ahead) {
        const std::lock_guard lock(mutex_);
        std::erase(files_, ahead);
    }

    /// Waits for what the file gives next and takes it: at least one record or the end, unless stopped.
    Stretch take(Ahead &ahead) {
        std::unique_lock lock(mutex_);
        taking_.wait(lock, [&] { return !ahead.ready.records.empty() || ahead.ready.ended || stopped_; });
        working_.notify_one();
        return std::exchange(ahead.ready, {});
    }

  private:
    static bool wanting(const Ahead &ahead) {
        return !ahead.busy && !ahead.ended && ahead.ready.records.size() < kMostRecords &&
               ahead.ready.bytes < kMostBytesAhead;
    }

    /// Waits until a file should be read further. Returns the one with the fewest records ready; null when stopped.
    std::shared_ptr<Ahead> begin() {
        std::unique_lock lock(mutex_);
        std::shared_ptr<Ahead> least;
        working_.wait(lock, [&] {
            for (const auto &ahead : files_)
                if (wanting(*ahead) && (least == nullptr || ahead->ready.records.size() < least->ready.records.size()))
                    least = ahead;
            return least != nullptr || stopped_;
        });
        if (stopped_) return nullptr;
        least->busy = true;
        return least;
    }

    void hand_over(Ahead &ahead, Stretch chunk) {
        const std::lock_guard lock(mutex_);
        ahead.busy = false;
        ahead.ended = chunk.ended;
        ahead.ready.append(std::move(chunk));
        if (wanting(ahead)) working_.notify_one();
        taking_.notify_one();
    }

    std::mutex mutex_;
    std::condition_variable working_;
    std::condition_variable taking_;
    std::vector<std::shared_ptr<Ahead>> files_;
    bool stopped_ = false;
};

class ReadAhead::AheadFile final : public RecordFile {
  public:
    AheadFile(std::shared_ptr<Readers> readers, std::unique_ptr<RecordFile> file)
        : readers_(std::move(readers)), ahead_(std::make_shared<Ahead>(Ahead{std::move(file)})) {
        readers_->add(ahead_);
    }
    ~AheadFile() override { readers_->remove(ahead_); }
    AheadFile(const AheadFile &) = delete;
    AheadFile &operator=(const AheadFile &) = delete;

    /// The reading threads know nothing of the room, so it stays unused.
    bool next(Tensor &record, Room *, uint64_t &left_out) override {
        if (taken_.records.empty() && !taken_.ended) taken_ = readers_->take(*ahead_);
        if (taken_.records.empty()) {
            left_out += taken_.left_out;
            if (taken_.failure) throw Failure(*taken_.failure);
            return false;
        }
        left_out += taken_.records.front().left_out;
        record = std::move(taken_.records.front().record);
        taken_.records.pop_front();
        return true;
    }

  private:
    std::shared_ptr<Readers> readers_;
    std::shared_ptr<Ahead> ahead_;
    Stretch taken_; // records taken from what was ready, not yet handed out
};

ReadAhead::ReadAhead(std::size_t threads, const Iteration &iteration)
    : threads_(threads), readers_(std::make_shared<Readers>()), stream_threads_("mdist read", false, iteration) {}

ReadAhead::~ReadAhead() = default;

std::unique_ptr<RecordFile> ReadAhead::ahead(std::unique_ptr<RecordFile> file) {
    if (!stream_threads_.running()) stream_threads_.start(readers_, threads_);
    return std::make_unique<AheadFile>(readers_, std::move(file));
}

} // namespace mdist

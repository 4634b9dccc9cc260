// SPDX-License-Identifier: Apache-2.0
#include "membership/store/state_file.h"

#include "util/crc32c.h"
#include "util/failure.h"
#include "util/payload.h"
#include "util/text.h"

namespace mdist {
namespace {

constexpr const char *kName = "store.state";
constexpr uint32_t kMagic = 0x53644d6d; // "mMdS"
constexpr uint32_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 16;
constexpr uint64_t kMostBytes = 64 * 1024 * 1024;

} // namespace

StateFile::StateFile(const std::string &folder) : folder_(Folder::created(folder)) {
    folder_.lock();
}

std::string StateFile::read() const {
    if (!folder_.has(kName)) return {};
    const OldFile file(folder_, kName);
    const auto damaged = [&](const char *how) {
        return Failure(MDIST_ERR_DATA_LOSS,
                       text(file.path(), " ", how,
                            ". If its job is over, remove it; otherwise start the job again from a "
                            "checkpoint, with another folder"));
    };
    if (file.bytes() < kHeaderBytes || file.bytes() > kMostBytes) throw damaged("is no state of a store");
    std::string bytes(file.bytes(), '\0');
    file.read_at(0, bytes.data(), bytes.size());
    PayloadReader header(bytes);
    if (header.number<uint32_t>() != kMagic) throw damaged("is no state of a store");
    if (const auto version = header.number<uint32_t>(); version != kVersion)
        throw Failure(MDIST_ERR_CONFIG, text(file.path(), " has version ", version, ", but this store reads version ",
                                             kVersion, ". Serve the job with the libmdist that has written it"))
            .reason("different_version");
    const auto length = header.number<uint32_t>(), checksum = header.number<uint32_t>();
    const std::string_view body = std::string_view(bytes).substr(kHeaderBytes);
    if (length != body.size() || checksum != crc32c(body.data(), body.size())) throw damaged("is damaged");
    return std::string(body);
}

void StateFile::keep(const std::string &bytes) {
    if (bytes.empty()) {
        folder_.remove(kName);
        return folder_.flush();
    }
    const auto length = static_cast<uint32_t>(bytes.size());
    const std::string header = PayloadWriter()(kMagic, kVersion, length, crc32c(bytes.data(), bytes.size())).take();
    NewFile file(folder_, kName, true); // it has the session's id, by which a job without a secret knows its workers
    file.write_at(0, header.data(), header.size());
    file.write_at(header.size(), bytes.data(), bytes.size());
    file.commit();
}

} // namespace mdist

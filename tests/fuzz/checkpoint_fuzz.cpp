// SPDX-License-Identifier: Apache-2.0
// Fuzz target: a checkpoint's file, or the list of checkpoints if the input begins with "{". Whatever the bytes, the
// tensors lie side by side within the data, or a Failure says what is wrong.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "checkpoint/folder.h"
#include "checkpoint/safetensors.h"
#include "target.h"
#include "util/failure.h"

using namespace mdist;

namespace {

void require(bool holds, const char *what) {
    if (holds) return;
    std::fprintf(stderr, "checkpoint_fuzz: broken promise: %s\n", what);
    std::abort();
}

void check_failure(const Failure &failure) {
    require(failure.status() == MDIST_ERR_DATA_LOSS, "the status is MDIST_ERR_DATA_LOSS");
    require(!failure.message().empty() && failure.message().size() < 2000, "there is a short sentence");
}

void check_header(const SafetensorsHeader &header, std::uint64_t data_bytes) {
    std::uint64_t end = 0;
    for (const StoredTensor &tensor : header.tensors) {
        require(tensor.begin == end && tensor.begin <= tensor.end, "tensors lie side by side");
        end = tensor.end;
        require(!tensor.text().empty() && tensor.text().size() < 1000, "a tensor has a short description");
    }
    require(end == data_bytes && header.data_bytes() == data_bytes, "they fill the data");
}

/// Writes the header and reads it again.
void write_again(SafetensorsHeader header) {
    std::erase_if(header.tensors, [](const StoredTensor &tensor) { return tensor.dtype == 0; });
    place_tensors(header.tensors);
    const std::string bytes = encode_header(header);
    const SafetensorsHeader again =
        parse_header(std::string_view(bytes).substr(sizeof(std::uint64_t)), header.data_bytes());
    require(again.texts == header.texts && again.iterators == header.iterators &&
                again.tensors.size() == header.tensors.size(),
            "what is written is read");
}

void read_file(std::string_view file) {
    std::uint64_t length = 0;
    if (file.size() < sizeof length) return;
    std::memcpy(&length, file.data(), sizeof length);
    file.remove_prefix(sizeof length);
    if (length > file.size()) return;
    const SafetensorsHeader header = parse_header(file.substr(0, length), file.size() - length);
    check_header(header, file.size() - length);
    write_again(header);
}

} // namespace

FUZZ_TARGET(checkpoint) {
    const std::string_view input(reinterpret_cast<const char *>(data), size);
    try {
        if (input.starts_with('{'))
            parse_manifest(input);
        else
            read_file(input);
    } catch (const Failure &failure) {
        check_failure(failure);
    }
    return 0;
}

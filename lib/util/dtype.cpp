// SPDX-License-Identifier: Apache-2.0
#include "util/dtype.h"

#include "util/failure.h"
#include "util/text.h"

namespace mdist {
namespace {

struct DType {
    std::size_t size;
    const char *name;
};

constexpr DType kDTypes[] = {
    {0, "?"},     {4, "float32"}, {8, "float64"}, {2, "float16"}, {2, "bfloat16"}, {1, "int8"},
    {1, "uint8"}, {4, "int32"},   {4, "uint32"},  {8, "int64"},   {8, "uint64"},
};

const DType &find(int32_t dtype) {
    return kDTypes[dtype >= MDIST_FLOAT32 && dtype <= MDIST_UINT64 ? dtype : 0];
}

} // namespace

std::size_t dtype_size(int32_t dtype) {
    return find(dtype).size;
}

const char *dtype_name(int32_t dtype) {
    return find(dtype).name;
}

bool dtype_is_integer(int32_t dtype) {
    return dtype >= MDIST_INT8 && dtype <= MDIST_UINT64;
}

void check_dtype(int32_t dtype, const char *what) {
    if (dtype_size(dtype) == 0)
        throw invalid(text(what, " has dtype ", dtype,
                           ", which is not a valid dtype; use MDIST_FLOAT32 (1) to MDIST_UINT64 (10)"));
}

} // namespace mdist

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
    {2, "int16"}, {2, "uint16"},  {1, "bool"},
};

const DType &find(int32_t dtype) {
    return kDTypes[is_dtype(dtype) ? dtype : 0];
}

} // namespace

std::size_t dtype_size(int32_t dtype) {
    if (is_operator_dtype(dtype)) return static_cast<std::size_t>(dtype & 0x3fffffff);
    return find(dtype).size;
}

const char *dtype_name(int32_t dtype) {
    return is_operator_dtype(dtype) ? "elements" : find(dtype).name;
}

bool dtype_is_integer(int32_t dtype) {
    return dtype >= MDIST_INT8 && dtype <= kLastDtype;
}

void check_dtype(int32_t dtype, const char *what) {
    if (!is_dtype(dtype))
        throw invalid(text(what, " has dtype ", dtype,
                           ", which is not a valid dtype; use MDIST_FLOAT32 (1) to MDIST_BOOL (13)"));
}

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
#include "util/dtype.h"

#include "util/failure.h"
#include "util/text.h"

namespace mdist {
namespace {

constexpr const char *kNames[kLastDtype + 1] = {"?",     "float32", "float64", "float16", "bfloat16", "int8",   "uint8",
                                                "int32", "uint32",  "int64",   "uint64",  "int16",    "uint16", "bool"};

} // namespace

const char *dtype_name(int32_t dtype) {
    return is_operator_dtype(dtype) ? "elements" : kNames[is_dtype(dtype) ? dtype : 0];
}

bool dtype_is_integer(int32_t dtype) {
    return dtype >= MDIST_INT8 && dtype <= kLastDtype;
}

void check_dtype(int32_t dtype, const char *what) {
    if (!is_dtype(dtype))
        throw invalid(
            text(what, " has dtype ", dtype, ", which is not a valid dtype; use MDIST_FLOAT32 (1) to MDIST_BOOL (13)"));
}

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
#include "data/callback.h"

#include "device/transfer/transfer.h"
#include "util/callback.h"
#include "util/text.h"

namespace mdist {
namespace {

Spec checked_output(mdist_tensor_t output, std::size_t index, const Spec *rows_of) {
    const std::string what = text("output ", index);
    const bool rows = output.rank > 0 && output.shape[0] == MDIST_UNKNOWN_LENGTH;
    if (rows) output.shape[0] = 1;
    output.data = nullptr; // not read
    for (int32_t i = 1; i < output.rank && i < MDIST_MAX_RANK; ++i)
        if (output.shape[i] == MDIST_UNKNOWN_LENGTH)
            throw invalid(text(what, " has MDIST_UNKNOWN_LENGTH as dimension ", i, "; only dimension 0 can have it"));
    Spec spec{output.dtype, checked_on_host(output, what.c_str())};
    if (!rows) return spec;
    if (rows_of == nullptr)
        throw invalid(what +
                      " has MDIST_UNKNOWN_LENGTH as its first dimension, but the function has no input whose rows "
                      "could be counted");
    if (rows_of->shape.rank == 0)
        throw invalid(what +
                      " has MDIST_UNKNOWN_LENGTH as its first dimension, but component 0 of the input is a scalar, "
                      "which has no rows");
    spec.shape.dims[0] = rows_of->shape.dims[0];
    return spec;
}

} // namespace

int32_t call_function(const char *what, FunctionRef<int32_t()> call, int32_t also) {
    const auto who = [&] { return text("the ", what, " function"); };
    Why why;
    int32_t result = MDIST_OK;
    try {
        result = call_back(who, call, &why);
    } catch (const Failure &failure) {
        throw Failure(failure).reason(text(what, "_threw"));
    }
    if (result == MDIST_OK || result == also) return result;
    throw callback_returned(who(), result, why, "; it must return 0 to continue").reason(text(what, "_returned"));
}

std::vector<Spec> checked_outputs(const mdist_tensor_t *outputs, std::size_t count, const Spec *rows_of) {
    check_component_count(count, "outputs");
    if (outputs == nullptr) throw invalid("outputs is NULL");
    std::vector<Spec> spec;
    spec.reserve(count);
    for (std::size_t i = 0; i < count; ++i) spec.push_back(checked_output(outputs[i], i, rows_of));
    return spec;
}

std::vector<Tensor> allocate_outputs(const std::vector<Spec> &spec, uint64_t rows) {
    std::vector<Tensor> made;
    made.reserve(spec.size());
    for (const Spec &component : spec) {
        Shape shape = component.shape;
        if (shape.rank != 0 && shape.dims[0] == Spec::kUnknown) shape.dims[0] = rows;
        made.push_back(Tensor::allocate(*host(), component.dtype, shape));
    }
    return made;
}

void describe_all(const std::vector<Tensor> &tensors, std::vector<mdist_tensor_t> &out) {
    out.clear();
    for (const Tensor &tensor : tensors) out.push_back(tensor.describe());
}

void describe_all(const Element &element, std::vector<mdist_tensor_t> &out) {
    out.clear();
    for (std::size_t i = 0; i < element.count(); ++i) out.push_back(element.tensor(i).describe());
}

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
#include "device/transfer/transfer.h"

#include "device/gpu/loader.h"
#include "device/gpu/physical.h"
#include "util/failure.h"
#include "util/text.h"

#include <utility>

namespace mdist {
namespace {

Tensor allocated(const Place &place, int32_t dtype, const Shape &shape) {
    if (place.on_host()) return Tensor::allocate(*host(), dtype, shape);
    Memory memory = PhysicalGpu::at(place.index).allocate(checked_bytes(shape, dtype, "tensor"));
    void *const data = memory.get();
    return Tensor::view(data, dtype, shape, std::move(memory), place);
}

} // namespace

int32_t gpu_of(const void *data) {
    const Place place = place_of(data, -1);
    return place.on_host() ? -1 : place.index;
}

void need_on_host(const void *data, const char *what) {
    if (const int32_t gpu = gpu_of(data); gpu >= 0)
        throw invalid(text(what, " lies on gpu:", gpu,
                           "; this call needs host memory. Copy it to the host with mdist_tensor_copy first"));
}

Shape checked_on_host(const mdist_tensor_t &tensor, const char *what) {
    const Shape shape = checked_shape(tensor, what);
    if (tensor.device_kind != MDIST_DEVICE_CPU)
        throw invalid(text(what, " is said to lie on gpu:", tensor.device_index,
                           "; this call needs host memory. Copy it to the host with mdist_tensor_copy first"));
    need_on_host(tensor.data, what);
    return shape;
}

Place checked_place(const mdist_tensor_t &tensor, const char *what, int32_t asking) {
    // A tensor that says GPU must lie there. One that says host may come from a caller that does not know better.
    const Place said = {tensor.device_kind, tensor.device_index};
    if (!said.on_host() && gpu_support().count == 0)
        throw invalid(
            text(what, " is said to lie on gpu:", said.index, ", but this process has no GPU: ", gpu_support().reason));
    if (!said.on_host()) PhysicalGpu::at(said.index); // throws unless there is that one
    if (tensor.data == nullptr) return said;
    const Place place = place_of(tensor.data, said.on_host() ? asking : said.index);
    if (!said.on_host() && !(place == said))
        throw invalid(text(what, " is said to lie on gpu:", said.index, ", but its memory is ",
                           place.on_host() ? text("the host's") : text("gpu:", place.index, "'s")));
    return place;
}

Tensor view_of(const mdist_tensor_t &tensor, const char *what, const Memory &owner, int32_t asking) {
    const Shape shape = checked_filled(tensor, what);
    return Tensor::view(tensor.data, tensor.dtype, shape, owner, checked_place(tensor, what, asking));
}

void copy_to(Device &device, void *to, const Tensor &from) {
    if (from.on_host()) return device.copy_in(to, from.data(), from.bytes());
    if (from.place() == device.place()) {
        device.copy(to, from.data(), from.bytes());
        return device.finish();
    }
    device.finish();
    copy_between(to, device.place(), from.data(), from.place(), from.bytes());
}

void copy_elements(Device &device, const Tensor &to, const Tensor &from) {
    const std::size_t bytes = to.bytes();
    if (to.data() == from.data()) return;
    if (to.on_host() && from.on_host())
        host()->copy(to.data(), from.data(), bytes);
    else if (device.gpu() == nullptr)
        copy_between(to.data(), to.place(), from.data(), from.place(), bytes);
    else if (from.on_host())
        device.copy_in(to.data(), from.data(), bytes);
    else if (to.on_host())
        device.copy_out(to.data(), from.data(), bytes);
    else
        device.copy(to.data(), from.data(), bytes);
}

Tensor copied_to(Device &device, const Tensor &tensor) {
    const Tensor copy = Tensor::allocate(device, tensor.dtype(), tensor.shape());
    copy_to(device, copy.data(), tensor);
    return copy;
}

Tensor brought_to(Device &device, const Tensor &tensor) {
    return tensor.place() == device.place() ? tensor : copied_to(device, tensor);
}

Tensor usable_on(Device &device, const Tensor &tensor) {
    return tensor.on_host() ? tensor : brought_to(device, tensor);
}

Tensor copied(const mdist_tensor_t &tensor, const char *what) {
    const Shape shape = checked_shape(tensor, what);
    const Place place = checked_place(tensor, what, 0);
    if (place.on_host()) return Tensor::copy_of(*host(), tensor, what);
    const Tensor copy = allocated(place, tensor.dtype, shape);
    if (tensor.data != nullptr)
        copy_between(copy.data(), place, tensor.data, place, copy.bytes());
    else
        PhysicalGpu::at(place.index).zero_now(copy.data(), copy.bytes());
    return copy;
}

Tensor copied_in_turn(Device &device, const mdist_tensor_t &tensor, const char *what) {
    const Tensor from = view_of(tensor, what, {}, device.place().index);
    if (!(from.place() == device.place())) return from.on_host() ? copied_to(*host(), from) : copied_to(device, from);
    const Tensor copy = Tensor::allocate(device, from.dtype(), from.shape());
    device.copy(copy.data(), from.data(), copy.bytes());
    return copy;
}

Tensor host_copy(const Device &device, const Tensor &tensor) {
    if (tensor.on_host() || !(tensor.place() == device.place())) return to_host(tensor);
    const Tensor copy = Tensor::allocate(*host(), tensor.dtype(), tensor.shape());
    device.copy_out(copy.data(), tensor.data(), copy.bytes());
    return copy;
}

Tensor to_host(const Tensor &tensor) {
    if (tensor.on_host() || !tensor.defined()) return tensor;
    const Tensor copy = Tensor::allocate(*host(), tensor.dtype(), tensor.shape());
    copy_between(copy.data(), copy.place(), tensor.data(), tensor.place(), copy.bytes());
    return copy;
}

std::vector<Tensor> to_host(std::span<const Tensor> tensors) {
    std::vector<Tensor> copies;
    copies.reserve(tensors.size());
    for (const Tensor &tensor : tensors) copies.push_back(to_host(tensor));
    return copies;
}

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
// Gradients in the program's memory: where they lie, and how they become the buffers of a reduction.
#include "device/gpu/physical.h"
#include "strategy/gradients/gradients.h"
#include "util/dtype.h"
#include "util/text.h"

namespace mdist {

void Gradients::lend(uint32_t local, const std::vector<void *> &addresses) {
    Share &share = *shares_[local];
    if (share.round.open)
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      text("local replica ", local,
                           " is within a round of these gradients, and the library may be using the memory that it has "
                           "lent; lend after the round has ended, or pass the address to mdist_gradients_ready_at"))
            .reason("round_has_begun");
    for (std::size_t i = 0; i < plan_.count(); ++i) {
        share.lent[i].store(static_cast<char *>(addresses[i]), std::memory_order_relaxed);
        share.data[i].store(static_cast<char *>(addresses[i]), std::memory_order_relaxed);
    }
}

void Gradients::check_place(uint32_t local, std::size_t index, const void *data) const {
    // A newcomer has its GPUs, and lends anew, once it has entered.
    if (data == nullptr || job_->elastic.joining()) return;
    const Place own = job_->replicas.device(local).place();
    const Place place = place_of(data, own.on_host() ? -1 : own.index);
    if (own.on_host() ? place.on_host() || place.index < 0 : place == own) return;
    const auto name = [](const Place &each) {
        return each.on_host() ? std::string("the host") : text("gpu:", each.index);
    };
    throw invalid(text(plan_.text(index), " lies on ", name(place), ", but local replica ", local, " computes on ",
                       name(own), ". Lend memory of the replica's device"));
}

void Gradients::need_memory(const Share &share, std::size_t index) const {
    if (data_of(share, index) != nullptr || plan_.bytes_of(index) == 0) return;
    throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                  text(plan_.text(index),
                       " has no memory; lend it with mdist_gradients_lend, or say where it lies with "
                       "mdist_gradients_ready_at"))
        .reason("not_lent");
}

void Gradients::ready_at(Party &replica, std::size_t index, void *data) {
    check_index(index);
    check_place(replica.local_index(), index, data);
    in_round(replica, [&](Share &share) {
        need_not_ready(share.round, index);
        if (!plan_.options().lent && data != data_of(share, index))
            throw invalid(text(plan_.text(index),
                               " has memory of the library, and data is another address. Write it where "
                               "mdist_gradients_tensor says, or lend memory with mdist_gradients_create_lent"));
        if (data == nullptr && plan_.bytes_of(index) != 0) throw invalid(text("data is NULL for ", plan_.text(index)));
        share.data[index].store(static_cast<char *>(data), std::memory_order_relaxed);
        mark(replica, share, index);
    });
}

/// Returns where the buffer begins if its gradients are adjacent, in order; nullptr if not, or if it has no elements.
char *Gradients::in_one_piece(const Share &share, const GradientPlan::Buffer &buffer) const {
    char *first = nullptr;
    char *end = nullptr;
    for (const std::size_t i : buffer.gradients) {
        const std::size_t bytes = plan_.bytes_of(i);
        if (bytes == 0) continue;
        char *const data = data_of(share, i);
        if (first == nullptr)
            first = data;
        else if (data != end)
            return nullptr;
        end = data + bytes;
    }
    return first;
}

mdist_buffer_t Gradients::buffer_of(const Party &replica, Share &share, const GradientPlan::Buffer &buffer) const {
    const auto at_place = [&](char *data) { return mdist_buffer_t{data, buffer.elements, buffer.dtype, 0}; };
    if (!plan_.options().lent) return at_place(at(share.gradients, buffer.offset));
    if (buffer.elements == 0) return at_place(nullptr);
    if (char *const first = in_one_piece(share, buffer)) return at_place(first);
    pack(replica, share, buffer);
    return at_place(at(share.packed[buffer.number], 0));
}

void Gradients::pack(const Party &replica, Share &share, const GradientPlan::Buffer &buffer) const {
    Device &device = replica.device();
    Memory &memory = share.packed[buffer.number];
    if (!memory) memory = device.allocate(buffer.elements * dtype_size(buffer.dtype));
    std::size_t offset = 0;
    for (const std::size_t i : buffer.gradients) {
        const std::size_t bytes = plan_.bytes_of(i);
        if (bytes != 0) device.copy(at(memory, offset), data_of(share, i), bytes);
        offset += bytes;
    }
    share.round.packed[buffer.number] = 1;
}

/// Copies a reduced bucket back to where its gradients lie.
void Gradients::unpack(const Party &replica, Share &share, const GradientPlan::Bucket &bucket) const {
    for (const GradientPlan::Buffer &buffer : bucket.buffers) {
        if (!share.round.packed[buffer.number]) continue;
        std::size_t offset = 0;
        for (const std::size_t i : buffer.gradients) {
            const std::size_t bytes = plan_.bytes_of(i);
            if (bytes != 0) replica.device().copy(data_of(share, i), at(share.packed[buffer.number], offset), bytes);
            offset += bytes;
        }
    }
}

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
#include "api/operator.h"

#include "api/check.h"
#include "api/guard.h"
#include "comm/call/check.h"
#include "util/dtype.h"
#include "util/failure.h"
#include "util/fnv.h"
#include "util/process_wide.h"
#include "util/text.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string_view>

using namespace mdist;

namespace {

/// All operators of the process. A number is {mark, generation, slot}, so that the number of one that was unregistered
/// stays invalid when its slot is used again.
class Operators {
  public:
    int32_t add(std::shared_ptr<const reduce::Operator> op) {
        const std::lock_guard lock(mutex_);
        std::size_t slot = 0;
        while (slot < slots_.size() && (slots_[slot].op || slots_[slot].generation == kLastGeneration)) ++slot;
        if (slot == kMost)
            throw Failure(MDIST_ERR_RESOURCE, text("this process has ", kMost, " operators; unregister some first"))
                .reason("too_many_operators");
        if (slot == slots_.size()) slots_.emplace_back();
        slots_[slot].op = std::move(op);
        return number_of(slot);
    }
    std::shared_ptr<const reduce::Operator> find(int32_t op) const {
        const std::lock_guard lock(mutex_);
        const std::size_t slot = slot_of(op);
        return slot < slots_.size() && number_of(slot) == op ? slots_[slot].op : nullptr;
    }
    /// Returns null if there is none of that number.
    std::shared_ptr<const reduce::Operator> remove(int32_t op) noexcept {
        const std::lock_guard lock(mutex_);
        const std::size_t slot = slot_of(op);
        if (slot >= slots_.size() || number_of(slot) != op || !slots_[slot].op) return nullptr;
        ++slots_[slot].generation;
        return std::move(slots_[slot].op); // freed outside of the lock
    }

  private:
    static constexpr int kSlotBits = 10;
    static constexpr std::size_t kMost = std::size_t{1} << kSlotBits;
    static constexpr int32_t kMark = 0x40000000;
    static constexpr int32_t kLastGeneration = (kMark >> kSlotBits) - 1;
    struct Slot {
        std::shared_ptr<const reduce::Operator> op;
        int32_t generation = 0;
    };

    static std::size_t slot_of(int32_t op) { return static_cast<std::size_t>(op) & (kMost - 1); }
    int32_t number_of(std::size_t slot) const {
        return kMark | slots_[slot].generation << kSlotBits | static_cast<int32_t>(slot);
    }

    mutable std::mutex mutex_;
    std::vector<Slot> slots_;
};

bool is_name(std::string_view name) {
    return !name.empty() && name.size() <= 64 &&
           std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

mdist_buffer_t in_elements(const mdist_buffer_t &buffer, const reduce::Operator &op, const char *which, std::size_t i) {
    check_buffer(buffer, which, i);
    const std::size_t bytes = buffer.elements * dtype_size(buffer.dtype);
    if (bytes % op.element_bytes != 0)
        throw invalid(text(which, i, " has ", bytes, " bytes, which is no whole number of elements of operator \"",
                           op.name, "\"; they have ", op.element_bytes, " bytes each"));
    return {buffer.data, bytes / op.element_bytes, operator_dtype(op.element_bytes), 0};
}

} // namespace

namespace mdist {

std::shared_ptr<const reduce::Operator> operator_of(int32_t op) {
    auto found = process_wide<Operators>().find(op);
    if (!found)
        throw invalid(
            text("op is ", op, ", which is no operator of this process; it was unregistered, or never registered"));
    return found;
}

OperatorCall::OperatorCall(const Call &call) : op_(operator_of(call.op)), call_(call) {
    call_.by = op_.get();
    call_.op = kOperator;
    call_.subject = call_.by->hash;
    call_.subject_text = call_.by->text.c_str();
    buffers_.reserve(2 * call.buffer_count + 1); // one more: NULL would mean a call of a kind without buffers
    for (std::size_t b = 0; b < call.buffer_count; ++b)
        buffers_.push_back(in_elements(call.inputs[b], *call_.by, "input ", b));
    for (std::size_t b = 0; b < call.buffer_count; ++b)
        buffers_.push_back(in_elements(call.outputs[b], *call_.by, "output ", b));
    call_.inputs = buffers_.data();
    call_.outputs = buffers_.data() + call.buffer_count;
}

} // namespace mdist

mdist_status_t mdist_operator_register(const char *name, size_t element_bytes, mdist_combine_fn combine,
                                       void *user_data, mdist_reduce_op_t *out, mdist_error_t **error) {
    return guard("mdist_operator_register", error, [&] {
        need_text(name, "name");
        if (combine == nullptr) throw invalid("combine is NULL");
        need(out, "out");
        if (!is_name(name))
            throw invalid(text("name has ", std::strlen(name),
                               " bytes, or some that are not printable ASCII; use 1 to 64 printable characters"));
        if (element_bytes == 0 || element_bytes > MDIST_OPERATOR_MAX_BYTES)
            throw invalid(text("element_bytes is ", element_bytes, "; it must be 1 to ", MDIST_OPERATOR_MAX_BYTES));
        std::string words = text(element_bytes, "-byte ", name, ", ");
        const auto op = std::make_shared<reduce::Operator>();
        op->name = name;
        op->element_bytes = element_bytes;
        op->combine = combine;
        op->user_data = user_data;
        op->hash = fnv1a(words);
        op->text = std::move(words);
        *out = static_cast<mdist_reduce_op_t>(process_wide<Operators>().add(op));
    });
}

void mdist_operator_unregister(mdist_reduce_op_t op) {
    if (is_operator(op)) process_wide<Operators>().remove(op);
}

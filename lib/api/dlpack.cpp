// SPDX-License-Identifier: Apache-2.0
// DLPack exchange and its ownership. The deleter, the other side's or ours, runs exactly once, with the last reference.
#include "device/transfer/dlpack.h"
#include "api/check.h"
#include "api/guard.h"
#include "strategy/values/value.h"
#include "util/text.h"

#include <memory>

using namespace mdist;

namespace {

void check_version(const DLManagedTensor &) {}
void check_version(const DLManagedTensorVersioned &managed) {
    check_dl_version(managed.version);
}

void mark(DLManagedTensor &) {}
void mark(DLManagedTensorVersioned &managed) {
    managed.version = kDlVersion;
    managed.flags = kDlReadOnly;
}

template <class Managed>
void delete_theirs(void *managed) {
    auto *const theirs = static_cast<Managed *>(managed);
    theirs->deleter(theirs);
}

template <class Managed>
mdist_value_t *import(Managed *managed) {
    check_version(*managed);
    const auto kept = std::make_shared<Kept>(managed, managed->deleter == nullptr ? nullptr : delete_theirs<Managed>);
    try {
        return publish<mdist_value_t>(Value::plain(tensor_from_dl(managed->dl_tensor, kept)));
    } catch (...) {
        kept->release(); // it is still the caller's
        throw;
    }
}

/// An exported tensor with everything that it points to.
template <class Managed>
struct Exported {
    explicit Exported(const Tensor &tensor) : memory(tensor.owner()) {
        managed.dl_tensor = describe_dl(tensor, dimensions);
        managed.manager_ctx = this;
        managed.deleter = delete_ours;
        mark(managed);
    }

    /// Does nothing in a forked child, which keeps everything.
    static void delete_ours(Managed *managed) {
        if (managed == nullptr || process_forked()) return;
        delete static_cast<Exported *>(managed->manager_ctx);
    }

    Managed managed = {};
    DlDimensions dimensions = {};
    Memory memory;
};

template <class Managed>
Managed *export_tensor(const Value &value, std::size_t index) {
    return &(new Exported<Managed>(value.tensor_at(index)))->managed;
}

/// Returns use() of the tensor in the layout that it has.
template <class Use>
auto in_its_layout(const mdist_dlpack_t *managed, Use &&use) {
    need(managed, "managed");
    if ((managed->plain == nullptr) == (managed->versioned == nullptr))
        throw invalid(text("plain and versioned of managed are both ", managed->plain == nullptr ? "NULL" : "set",
                           "; set the one whose layout the tensor has, and let the other be NULL"));
    return managed->plain != nullptr ? use(managed->plain) : use(managed->versioned);
}

} // namespace

mdist_status_t mdist_value_from_dlpack(const mdist_dlpack_t *managed, mdist_value_t **out, mdist_error_t **error) {
    return guard("mdist_value_from_dlpack", error, [&] {
        need(out, "out");
        *out = in_its_layout(managed, [](auto *theirs) { return import(theirs); });
    });
}

mdist_status_t mdist_buffer_from_dlpack(const mdist_dlpack_t *managed, mdist_buffer_t *out, mdist_error_t **error) {
    return guard("mdist_buffer_from_dlpack", error, [&] {
        need(out, "out");
        *out = in_its_layout(managed, [](const auto *theirs) {
            check_version(*theirs);
            return buffer_from_dl(theirs->dl_tensor);
        });
    });
}

mdist_status_t mdist_value_to_dlpack(const mdist_value_t *value, size_t index, uint32_t max_major, mdist_dlpack_t *out,
                                     mdist_error_t **error) {
    return guard("mdist_value_to_dlpack", error, [&] {
        const auto pinned = pin(value);
        need(out, "out");
        *out = max_major == 0 ? mdist_dlpack_t{export_tensor<DLManagedTensor>(*pinned, index), nullptr}
                              : mdist_dlpack_t{nullptr, export_tensor<DLManagedTensorVersioned>(*pinned, index)};
    });
}

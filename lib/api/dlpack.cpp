// SPDX-License-Identifier: Apache-2.0
// DLPack exchange and its ownership. The deleter, the other side's or ours, runs exactly once, with the last reference.
#include "device/transfer/dlpack.h"
#include "api/check.h"
#include "api/guard.h"
#include "strategy/values/value.h"

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

template <class Managed>
mdist_status_t from_dlpack(const char *operation, Managed *managed, mdist_value_t **out, mdist_error_t **error) {
    return guard(operation, error, [&] {
        need(managed, "managed");
        need(out, "out");
        *out = import(managed);
    });
}

template <class Managed>
mdist_status_t describe(const char *operation, const Managed *managed, mdist_buffer_t *out, mdist_error_t **error) {
    return guard(operation, error, [&] {
        need(managed, "managed");
        need(out, "out");
        check_version(*managed);
        *out = buffer_from_dl(managed->dl_tensor);
    });
}

template <class Managed>
mdist_status_t to_dlpack(const char *operation, const mdist_value_t *value, std::size_t index, Managed **out,
                         mdist_error_t **error) {
    return guard(operation, error, [&] {
        const auto pinned = pin(value);
        need(out, "out");
        *out = export_tensor<Managed>(*pinned, index);
    });
}

} // namespace

mdist_status_t mdist_value_from_dlpack(struct DLManagedTensor *managed, mdist_value_t **out, mdist_error_t **error) {
    return from_dlpack("mdist_value_from_dlpack", managed, out, error);
}

mdist_status_t mdist_value_from_dlpack_versioned(struct DLManagedTensorVersioned *managed, mdist_value_t **out,
                                                 mdist_error_t **error) {
    return from_dlpack("mdist_value_from_dlpack_versioned", managed, out, error);
}

mdist_status_t mdist_buffer_from_dlpack(const struct DLManagedTensor *managed, mdist_buffer_t *out,
                                        mdist_error_t **error) {
    return describe("mdist_buffer_from_dlpack", managed, out, error);
}

mdist_status_t mdist_buffer_from_dlpack_versioned(const struct DLManagedTensorVersioned *managed, mdist_buffer_t *out,
                                                  mdist_error_t **error) {
    return describe("mdist_buffer_from_dlpack_versioned", managed, out, error);
}

mdist_status_t mdist_value_to_dlpack(const mdist_value_t *value, size_t index, struct DLManagedTensor **out,
                                     mdist_error_t **error) {
    return to_dlpack("mdist_value_to_dlpack", value, index, out, error);
}

mdist_status_t mdist_value_to_dlpack_versioned(const mdist_value_t *value, size_t index,
                                               struct DLManagedTensorVersioned **out, mdist_error_t **error) {
    return to_dlpack("mdist_value_to_dlpack_versioned", value, index, out, error);
}

// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/gpu.h"

#include "api/attachments.h"
#include "api/memory.h"
#include "api/replica_guard.h"
#include "device/gpu/description.h"
#include "device/gpu/loader.h"
#include "device/transfer/transfer.h"
#include "strategy/steps/graphs.h"
#include "util/callback.h"
#include "util/dtype.h"
#include "util/text.h"

#include <mdist/gpu.h>

#include <cstring>
#include <optional>
#include <utility>

using namespace mdist;

namespace {

struct Copy {
    Tensor to;
    Tensor from;
};

/// Throws INVALID_ARGUMENT unless the tensors are alike, and either the same memory or without overlap.
Copy checked_copy(const mdist_tensor_t *to, const mdist_tensor_t *from) {
    need(to, "to");
    need(from, "from");
    Copy copy = {view_of(*to, "to"), view_of(*from, "from")};
    if (copy.to.dtype() != copy.from.dtype() || !(copy.to.shape() == copy.from.shape()))
        throw invalid(text("to is ", dtype_name(copy.to.dtype()), " ", copy.to.shape().text(), " and from is ",
                           dtype_name(copy.from.dtype()), " ", copy.from.shape().text(),
                           "; both must have the same type and shape"));
    const auto *const begin = static_cast<const char *>(copy.to.data());
    const auto *const other = static_cast<const char *>(copy.from.data());
    const std::size_t bytes = copy.to.bytes();
    if (begin != other && begin < other + bytes && other < begin + bytes)
        throw invalid("to and from overlap in memory; they must be the same memory, or not overlap");
    return copy;
}

} // namespace

mdist_status_t mdist_gpu_count(uint32_t *count, char *text, size_t capacity, size_t *needed, mdist_error_t **error) {
    return guard("mdist_gpu_count", error, [&] {
        need(count, "count");
        watch_forks(); // CUDA does not survive a fork
        const auto gpus = static_cast<uint32_t>(gpu_support().count);
        if (text != nullptr || needed != nullptr) copy_text(describe_gpus(), text, capacity, needed);
        *count = gpus;
    });
}

mdist_status_t mdist_replica_stream(mdist_replica_t *replica, void **stream, mdist_error_t **error) {
    return replica_guard("mdist_replica_stream", replica, Others::kAway, error, [&](Replica &self) {
        need(stream, "stream");
        Gpu *const gpu = self.device().gpu();
        *stream = gpu == nullptr ? nullptr : gpu->stream();
    });
}

mdist_status_t mdist_replica_use_stream(mdist_replica_t *replica, void *stream, mdist_error_t **error) {
    return replica_guard("mdist_replica_use_stream", replica, Others::kAway, error, [&](Replica &self) {
        Device &device = self.device();
        if (device.gpu() != nullptr)
            device.gpu()->use_stream(static_cast<mdist_gpu_stream *>(stream));
        else if (stream != nullptr)
            throw invalid(text("replica ", self.id(), " is on ", device.name(), ", which has no streams; pass NULL"));
    });
}

mdist_status_t mdist_tensor_copy(const mdist_tensor_t *to, const mdist_tensor_t *from, mdist_error_t **error) {
    return guard("mdist_tensor_copy", error, [&] {
        const Copy copy = checked_copy(to, from);
        if (copy.to.data() != copy.from.data())
            copy_between(copy.to.data(), copy.to.place(), copy.from.data(), copy.from.place(), copy.to.bytes());
    });
}

mdist_status_t mdist_replica_copy(mdist_replica_t *replica, const mdist_tensor_t *to, const mdist_tensor_t *from,
                                  mdist_error_t **error) {
    return replica_guard("mdist_replica_copy", replica, Others::kAway, error, [&](Replica &self) {
        const Copy copy = checked_copy(to, from);
        copy_elements(self.device(), copy.to, copy.from);
    });
}

mdist_status_t mdist_replica_graph(mdist_replica_t *replica, uint64_t key, mdist_step_fn body, void *user_data,
                                   mdist_error_t **error) {
    const char *const function = "mdist_replica_graph";
    return guard(function, error, [&] {
        const auto self = pin(replica);
        std::optional<ReplicaUse> use;
        use.emplace(*self, function);
        const auto who = [&] { return text("what graph ", key, " of replica ", self->id(), " records"); };
        bool has_returned_error = false;
        const auto put_on_stream = [&] {
            use.reset(); // the body uses the replica now
            Why why;
            const int32_t code = call_back(
                who, [&] { return body(replica, user_data); }, &why);
            use.emplace(*self, function);
            has_returned_error = code != 0;
            if (code != 0) throw callback_returned(who(), code, why);
        };
        note_failures(*self, function, Others::kWait, [&] {
            Graphs &graphs = strategy_of(*self).graphs();
            if (body == nullptr) return graphs.forget(*self, key);
            try {
                graphs.run(*self, key, put_on_stream);
            } catch (const Failure &) {
                const auto lost = has_returned_error ? self->lost_device() : std::nullopt;
                if (lost) throw Failure(*lost); // the body may have failed because of it, as a step may
                throw;
            }
        });
    });
}

mdist_status_t mdist_replica_graph_begin(mdist_replica_t *replica, uint64_t key, int32_t *record,
                                         mdist_error_t **error) {
    return replica_guard("mdist_replica_graph_begin", replica, Others::kWait, error, [&](Replica &self) {
        need(record, "record");
        *record = strategy_of(self).graphs().begin(self, key) ? 1 : 0;
    });
}

mdist_status_t mdist_replica_graph_end(mdist_replica_t *replica, mdist_error_t **error) {
    return replica_guard("mdist_replica_graph_end", replica, Others::kWait, error,
                         [&](Replica &self) { strategy_of(self).graphs().end(self); });
}

mdist_status_t mdist_alloc_pinned(size_t bytes, void **out, mdist_error_t **error) {
    return guard("mdist_alloc_pinned", error, [&] {
        need(out, "out");
        watch_forks();
        Memory memory = allocate_pinned(bytes);
        std::memset(memory.get(), 0, bytes);
        *out = give_out(std::move(memory));
    });
}

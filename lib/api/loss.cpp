// SPDX-License-Identifier: Apache-2.0
#include "api/collective_call.h"
#include "comm/collectives.h"
#include "device/transfer/transfer.h"
#include "reduce/arithmetic.h"
#include "reduce/float_environment.h"
#include "strategy/job/call_functions.h"
#include "util/dtype.h"
#include "util/text.h"

#include <mdist/loss.h>

using namespace mdist;

namespace {

Shape checked_real(const mdist_tensor_t &tensor, const char *what) {
    const Shape shape = checked_filled(tensor, what);
    if (dtype_is_integer(tensor.dtype))
        throw invalid(text(what, " is ", dtype_name(tensor.dtype), "; it must be a floating-point type"));
    return shape;
}

/// How many elements share one weight. `shape` is that of the examples.
uint64_t elements_per_weight(const mdist_tensor_t &weights, int32_t dtype, const Shape &shape) {
    const Shape weight_shape = checked_filled(weights, "weights");
    const bool by_example = weight_shape.rank == 1 && weight_shape.dims[0] == shape.dims[0];
    if (weights.dtype != dtype || !(by_example || weight_shape == shape))
        throw invalid(text("weights is ", dtype_name(weights.dtype), " ", weight_shape.text(), " and per_example ",
                           dtype_name(dtype), " ", shape.text(),
                           "; both must have the same type and shape, or weights must be [", shape.dims[0],
                           "] of that type"));
    return weight_shape == shape ? 1 : shape.row_elements();
}

/// Sums tensors on the host or on the replica's GPU. On a GPU, the sum comes after the stream's earlier work.
double weighted_sum(const Replica &replica, const mdist_tensor_t &terms, const mdist_tensor_t *weights,
                    uint64_t elements_per_weight) {
    const Device &device = replica.device();
    const int32_t gpu = device.place().index;
    const Tensor here = host_copy(device, view_of(terms, "the terms", {}, gpu));
    const Tensor by = weights == nullptr ? Tensor() : host_copy(device, view_of(*weights, "weights", {}, gpu));
    const reduce::FloatEnvironment environment;
    return reduce::weighted_sum(here.dtype(), here.data(), by.data(), elements_per_weight, here.elements());
}

/// Counts the examples of all replicas.
uint64_t counted(Replica &replica, uint64_t own, uint64_t timeout_ns) {
    uint64_t total = 0;
    const mdist_buffer_t input = {&own, 1, MDIST_UINT64, 0};
    const mdist_buffer_t output = {&total, 1, MDIST_UINT64, 0};
    const Call call = call_of(&calls::kAverageLoss, MDIST_SUM, &input, &output, 1);
    perform_collective(replica.job().comm.executors(), replica.local_index(), call, timeout_ns);
    return total;
}

} // namespace

mdist_status_t mdist_average_loss(mdist_replica_t *replica, const mdist_tensor_t *per_example,
                                  const mdist_tensor_t *weights, uint64_t *global_batch, double *loss,
                                  const mdist_call_options_t *options, mdist_error_t **error) {
    const bool together = global_batch == nullptr || *global_batch == 0;
    const Others others = together ? Others::kMeet : Others::kAway;
    return replica_guard("mdist_average_loss", replica, others, error, [&](Replica &self) {
        need(per_example, "per_example");
        need(global_batch, "global_batch");
        need(loss, "loss");
        const uint64_t timeout_ns = timeout_of(options);
        const Shape shape = checked_real(*per_example, "per_example");
        if (shape.rank == 0) throw invalid("per_example is a scalar; its first dimension must count the examples");
        const uint64_t share = weights == nullptr ? 1 : elements_per_weight(*weights, per_example->dtype, shape);

        const double sum = weighted_sum(self, *per_example, weights, share);
        if (together) {
            self.await_turn("mdist_average_loss that counts the examples");
            *global_batch = counted(self, shape.dims[0], timeout_ns);
        }
        *loss = *global_batch == 0 ? 0 : sum / static_cast<double>(*global_batch);
    });
}

mdist_status_t mdist_scale_regularization(mdist_replica_t *replica, const mdist_tensor_t *terms, double *loss,
                                          mdist_error_t **error) {
    return replica_guard("mdist_scale_regularization", replica, Others::kAway, error, [&](Replica &self) {
        need(terms, "terms");
        need(loss, "loss");
        checked_real(*terms, "terms");
        *loss = weighted_sum(self, *terms, nullptr, 1) / self.job().replicas.count();
    });
}

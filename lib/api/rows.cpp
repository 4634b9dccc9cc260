// SPDX-License-Identifier: Apache-2.0
// Functions for rows, which several public headers declare.
#include "strategy/values/rows.h"

#include "api/group_seat.h"
#include "api/replica_guard.h"
#include "device/transfer/transfer.h"
#include "strategy/job/call_functions.h"
#include "strategy/variables/variable.h"
#include "util/text.h"

using namespace mdist;

namespace {

/// Wraps the caller's memory, valid only during the call.
Rows rows_of(const Replica &replica, const mdist_tensor_t *indices, const mdist_tensor_t *values) {
    need(indices, "indices");
    need(values, "values");
    const Device &device = replica.device();
    const int32_t gpu = device.place().index;
    Rows rows = {view_of(*indices, "the indices", {}, gpu), view_of(*values, "the rows", {}, gpu)};
    rows.check();
    if (device.place().on_host()) rows = {to_host(rows.indices), to_host(rows.values)};
    return rows;
}

} // namespace

mdist_status_t mdist_value_sparse(const mdist_value_t *indices, const mdist_value_t *values, mdist_value_t **out,
                                  mdist_error_t **error) {
    return guard("mdist_value_sparse", error, [&] {
        const auto which = pin(indices);
        const auto rows = pin(values);
        need(out, "out");
        *out = publish<mdist_value_t>(value_of_rows(*which, *rows));
    });
}

mdist_status_t mdist_value_indices(const mdist_value_t *value, size_t index, mdist_tensor_t *out,
                                   mdist_error_t **error) {
    return guard("mdist_value_indices", error, [&] {
        const auto pinned = pin(value);
        need(out, "out");
        pinned->tensor_at(index);
        *out = pinned->has_rows() ? pinned->indices_for(static_cast<uint32_t>(index)).describe() : mdist_tensor_t();
    });
}

mdist_status_t mdist_all_reduce_sparse(mdist_replica_t *replica, mdist_reduce_op_t op, const mdist_tensor_t *indices,
                                       const mdist_tensor_t *values, mdist_value_t **out,
                                       const mdist_call_options_t *options, mdist_error_t **error) {
    return replica_guard("mdist_all_reduce_sparse", replica, others_in(options), error, [&](Replica &self) {
        const Rows own = rows_of(self, indices, values);
        need(out, "out");
        const uint64_t timeout_ns = timeout_of(options, true);
        check_rows_op(op, own.values.dtype());
        const GroupSeat place = seat_of(self, options);
        place.await_turn(self, "mdist_all_reduce_sparse");
        const std::string subject = text(op == MDIST_MEAN ? "MEAN, " : "SUM, ", own.text(), ", ");
        const Rows all = gather_rows(self, place.seat, &calls::kAllReduceRows, subject, own, timeout_ns);
        if (op == MDIST_MEAN) divide_rows(self.device(), all, place.seat.replicas);
        *out = publish<mdist_value_t>(value_of_rows(*Value::plain(all.indices), *Value::plain(all.values)));
    });
}

mdist_status_t mdist_replica_assign_sparse(mdist_replica_t *replica, mdist_variable_t *variable, mdist_assign_t assign,
                                           const mdist_tensor_t *indices, const mdist_tensor_t *values,
                                           const mdist_call_options_t *options, mdist_error_t **error) {
    // The variable decides whether other replicas wait for this one in the same call.
    const auto known = try_pin(variable);
    const Others others = !known || known->aggregated_in_step() ? Others::kMeet : Others::kAway;
    return replica_guard("mdist_replica_assign_sparse", replica, others, error, [&](Replica &self) {
        const auto pinned = pin(variable);
        const Rows rows = rows_of(self, indices, values);
        pinned->assign_rows_in_step(self, assign, rows, timeout_of(options));
    });
}

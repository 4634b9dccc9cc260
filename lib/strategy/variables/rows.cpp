// SPDX-License-Identifier: Apache-2.0
// Writes rows into variables one after another, in their order. The same rows give the same bits on every replica.
#include "strategy/values/rows.h"

#include "device/transfer/transfer.h"
#include "reduce/arithmetic.h"
#include "strategy/job/call_functions.h"
#include "strategy/variables/variable.h"
#include "util/dtype.h"
#include "util/text.h"

namespace mdist {
namespace {

constexpr const char *kAssigns[] = {"?", "SET", "ADD", "SUB", "MUL", "DIV", "MIN", "MAX"};

/// Whether rows of several replicas can be applied one after another. For the other assignments one row would win.
bool goes_in_turn(int32_t assign) {
    return assign >= MDIST_ASSIGN_ADD && assign <= MDIST_ASSIGN_DIV;
}

} // namespace

const char *assign_name(int32_t assign) {
    return kAssigns[assign >= MDIST_ASSIGN_SET && assign <= MDIST_ASSIGN_MAX ? assign : 0];
}

void Variable::check_rows_assign(int32_t assign) const {
    if (assign < MDIST_ASSIGN_SET || assign > MDIST_ASSIGN_MAX)
        throw invalid(text("assign is ", assign, "; use MDIST_ASSIGN_SET (1) to MDIST_ASSIGN_MAX (7)"));
    spec_.check_takes(assign);
    if (spec_.synchronization == MDIST_SYNC_ON_READ)
        throw Failure(MDIST_ERR_UNSUPPORTED, text("variable \"", spec_.name,
                                                  "\" is synchronized on read, but rows can be written only into "
                                                  "mirrored variables; write to the memory of mdist_variable_tensor"))
            .reason("sparse_on_read");
    const bool one =
        spec_.aggregation == MDIST_AGGREGATION_NONE || spec_.aggregation == MDIST_AGGREGATION_ONLY_FIRST_REPLICA;
    if (!one && !goes_in_turn(assign))
        throw Failure(MDIST_ERR_UNSUPPORTED,
                      text(assign_name(assign), " of rows does not work with variable \"", spec_.name,
                           "\", whose aggregation is ", aggregation_name(spec_.aggregation),
                           ", since rows of several replicas are not summed first; use ADD, SUB, MUL or DIV, or a "
                           "variable with aggregation NONE or ONLY_FIRST_REPLICA"))
            .reason("sparse_aggregation");
}

void Variable::check_rows(const Device &device, int32_t assign, const Rows &rows) const {
    const Shape &shape = rows.values.shape();
    if (rows.values.dtype() != spec_.dtype || spec_.shape.rank == 0 ||
        !(shape.without_first() == spec_.shape.without_first()))
        throw invalid(text("the rows are ", rows.text(), " and variable \"", spec_.name, "\" is ",
                           dtype_name(spec_.dtype), " ", spec_.shape.text(),
                           "; they must have the same type and shape except for the first dimension"));
    check_apart(rows.values, "the memory of the rows", false);
    check_apart(rows.indices, "the memory of the indices", false);
    const Rows here = {host_copy(device, rows.indices), rows.values};
    for (uint64_t i = 0; i < rows.count(); ++i)
        if (here.index(i) < 0 || static_cast<uint64_t>(here.index(i)) >= spec_.shape.dims[0])
            throw invalid(text("index ", i, " of the rows is ", here.index(i), "; variable \"", spec_.name, "\" has ",
                               spec_.shape.dims[0], " rows, from 0"));
    if (assign == MDIST_ASSIGN_DIV && dtype_is_integer(spec_.dtype) &&
        reduce::any_zero(spec_.dtype, host_copy(device, rows.values).data(), rows.values.elements()))
        throw invalid(text("the rows contain a 0, by which ", dtype_name(spec_.dtype), " variable \"", spec_.name,
                           "\" cannot be divided"));
}

void Variable::apply_rows(uint32_t local, int32_t assign, const Rows &rows) const {
    Device &device = job_->replicas.device(local);
    const Rows here = {host_copy(device, rows.indices), brought_to(device, rows.values)};
    const std::size_t elements = spec_.shape.row_elements();
    const std::size_t bytes = elements * dtype_size(spec_.dtype);
    auto *const copy = static_cast<char *>(copies_[local].data());
    const auto *from = static_cast<const char *>(here.values.data());
    for (uint64_t i = 0; i < rows.count(); ++i, from += bytes) {
        char *const to = copy + static_cast<uint64_t>(here.index(i)) * bytes;
        if (assign == MDIST_ASSIGN_SET)
            device.copy(to, from, bytes);
        else
            device.write_elements(spec_.dtype, assign, to, from, elements);
    }
}

void Variable::assign_rows_in_step(Party &party, int32_t assign, const Rows &rows, uint64_t timeout_ns) {
    check_owner(party);
    check_rows_assign(assign);
    const uint32_t local = party.local_index();
    check_rows(job_->replicas.device(local), assign, rows);
    if (!aggregated_in_step()) return apply_rows(local, assign, rows);

    party.await_turn("mdist_replica_assign_sparse to a mirrored variable that is aggregated");
    const bool first_only = spec_.aggregation == MDIST_AGGREGATION_ONLY_FIRST_REPLICA;
    const Rows none = {rows.indices.rows(0, 0), rows.values.rows(0, 0)};
    const std::string subject = text(spec_.text(), ", ", assign_name(assign), ", ");
    const Rows all = gather_rows(party, party.seat(), &calls::kAssignRows, subject,
                                 first_only && party.id() != 0 ? none : rows, timeout_ns);
    if (spec_.aggregation == MDIST_AGGREGATION_MEAN)
        divide_rows(job_->replicas.device(local), all, job_->replicas.count());
    apply_rows(local, assign, all);
}

} // namespace mdist

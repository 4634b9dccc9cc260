// SPDX-License-Identifier: Apache-2.0
#include "strategy/variables/variable.h"

#include "comm/workers/workers.h"
#include "device/transfer/transfer.h"
#include "reduce/arithmetic.h"
#include "reduce/float_environment.h"
#include "strategy/job/call_functions.h"
#include "strategy/values/cross.h"
#include "strategy/values/rows.h"
#include "util/dtype.h"
#include "util/fnv.h"
#include "util/text.h"

#include <utility>

namespace mdist {
namespace {

constexpr const char *kAggregations[] = {"NONE", "SUM", "MEAN", "ONLY_FIRST_REPLICA"};

void check_assign(int32_t assign) {
    if (assign < MDIST_ASSIGN_SET || assign > MDIST_ASSIGN_SUB)
        throw invalid(
            text("assign is ", assign, "; use MDIST_ASSIGN_SET (1), _ADD (2) or _SUB (3)",
                 assign > MDIST_ASSIGN_SUB && assign <= MDIST_ASSIGN_MAX ? "; the others work only with rows" : ""));
}

} // namespace

const char *aggregation_name(int32_t aggregation) {
    return kAggregations[aggregation];
}

void VariableSpec::check() {
    if (name.empty()) throw invalid("the variable's name is empty");
    if (synchronization < MDIST_SYNC_AUTO || synchronization > MDIST_SYNC_ON_READ)
        throw invalid(mdist::text("synchronization of variable \"", name, "\" is ", synchronization,
                                  "; use MDIST_SYNC_AUTO (0), _ON_WRITE (1) or _ON_READ (2)"));
    if (aggregation < MDIST_AGGREGATION_NONE || aggregation > MDIST_AGGREGATION_ONLY_FIRST_REPLICA)
        throw invalid(mdist::text("aggregation of variable \"", name, "\" is ", aggregation,
                                  "; use MDIST_AGGREGATION_NONE (0), _SUM (1), _MEAN (2) or _ONLY_FIRST_REPLICA (3)"));
    if (aggregation == MDIST_AGGREGATION_MEAN && dtype_is_integer(dtype))
        throw invalid(mdist::text(
            "variable \"", name, "\" is ", dtype_name(dtype),
            "; aggregation MEAN needs a floating-point variable, since a mean of integers would have to be rounded"));
    if (dtype == MDIST_BOOL && aggregation != MDIST_AGGREGATION_NONE &&
        aggregation != MDIST_AGGREGATION_ONLY_FIRST_REPLICA)
        throw invalid(mdist::text("variable \"", name,
                                  "\" is bool, which has no sum or mean; use aggregation NONE or "
                                  "ONLY_FIRST_REPLICA, or an integer type"));
    if (synchronization == MDIST_SYNC_AUTO) synchronization = MDIST_SYNC_ON_WRITE;
}

void VariableSpec::check_takes(int32_t assign) const {
    if (dtype == MDIST_BOOL && assign != MDIST_ASSIGN_SET && assign != MDIST_ASSIGN_MIN && assign != MDIST_ASSIGN_MAX)
        throw invalid(mdist::text("assign is ", assign, " and variable \"", name,
                                  "\" is bool, which has no arithmetic; "
                                  "use MDIST_ASSIGN_SET (1), or with rows _MIN (6) or _MAX (7)"));
}

std::string VariableSpec::text() const {
    return mdist::text("\"", name, "\" ", dtype_name(dtype), " ", shape.text(),
                       synchronization == MDIST_SYNC_ON_READ ? ", ON_READ, " : ", ON_WRITE, ",
                       kAggregations[aggregation],
                       colocated_with.empty() ? "" : mdist::text(", with \"", colocated_with, "\""));
}

uint64_t VariableSpec::hash() const {
    return fnv1a(text());
}

std::shared_ptr<Variable> Variable::create(std::shared_ptr<Job> job, std::shared_ptr<VariableStore> store,
                                           VariableSpec spec, const Tensor &initial, CallKind kind,
                                           uint64_t timeout_ns) {
    auto created =
        std::make_shared<Variable>(std::move(job), std::move(store), std::move(spec), initial, kind, timeout_ns);
    created->store_->know(created, created->spec_.name, created->copies_[0], created->offset_);
    return created;
}

Variable::Variable(std::shared_ptr<Job> job, std::shared_ptr<VariableStore> store, VariableSpec spec,
                   const Tensor &initial, CallKind kind, uint64_t timeout_ns)
    : job_(std::move(job)), store_(std::move(store)), spec_(std::move(spec)) {
    const uint64_t hash = spec_.hash();
    for (int32_t assign = MDIST_ASSIGN_SET; assign <= MDIST_ASSIGN_SUB; ++assign)
        meanings_.push_back(
            {text(spec_.text(), ", ", assign_name(assign), ", "), hash * 4 + static_cast<uint64_t>(assign)});
    VariableStore::Place place = store_->add(spec_.name, spec_.dtype, spec_.shape);
    offset_ = place.offset;
    copies_ = std::move(place.copies);
    try {
        require_copies();
        for (uint32_t local = 0; initial.defined() && local < copies_.size(); ++local)
            copy_to(job_->replicas.device(local), copies_[local].data(), initial);
        job_->replicas.finish_devices(); // zeros where another variable was, too
        take_copy_of_chief(kind, timeout_ns);
    } catch (...) {
        give_memory_back();
        throw;
    }
}

void Variable::take_copy_of_chief(CallKind kind, uint64_t timeout_ns) {
    Workers *const workers = job_->workers();
    if (workers == nullptr) return;
    const std::string summary = spec_.text();
    const Call call = call_about(kind, summary, spec_.hash());
    const Tensor first = host_copy(job_->replicas.device(0), copies_[0]);
    workers->broadcast(call, first.data(), first.bytes(), job_->comm.timeout_or_own(timeout_ns));
    for (uint32_t local = 0; local < copies_.size(); ++local)
        if (copies_[local].data() != first.data()) copy_to(job_->replicas.device(local), copies_[local].data(), first);
}

Variable::~Variable() {
    if (tells_when_gone_) store_->commands->drop(spec_.name);
    give_memory_back();
}

void Variable::give_memory_back() noexcept {
    store_->remove(spec_.name, spec_.dtype, offset_, copies_[0].bytes());
}

void Variable::check_write(int32_t assign, const Tensor &tensor, const char *what) const {
    check_assign(assign);
    spec_.check_takes(assign);
    if (tensor.dtype() != spec_.dtype || !(tensor.shape() == spec_.shape))
        throw invalid(text(what, " is ", dtype_name(tensor.dtype()), " ", tensor.shape().text(), " and variable \"",
                           spec_.name, "\" is ", dtype_name(spec_.dtype), " ", spec_.shape.text(),
                           "; they must have the same type and shape"));
    check_apart(tensor, what, true);
}

void Variable::check_apart(const Tensor &tensor, const char *what, bool or_same) const {
    const auto *const begin = static_cast<const char *>(tensor.data());
    for (const Tensor &copy : copies_) {
        const auto *const at = static_cast<const char *>(copy.data());
        if (!(or_same && begin == at) && begin < at + copy.bytes() && at < begin + tensor.bytes())
            throw invalid(text(what, " overlaps variable \"", spec_.name, "\" in memory; it must ",
                               or_same ? "be the variable's own memory or " : "", "be separate memory"));
    }
}

void Variable::apply(uint32_t local, int32_t assign, const Tensor &tensor) const {
    const Tensor &copy = copies_[local];
    Device &device = job_->replicas.device(local);
    if (assign != MDIST_ASSIGN_SET) {
        const Tensor near = brought_to(device, tensor);
        device.write_elements(spec_.dtype, assign, copy.data(), near.data(), copy.elements());
    } else if (!(tensor.place() == copy.place())) {
        copy_to(device, copy.data(), tensor);
    } else if (copy.data() != tensor.data()) {
        device.copy(copy.data(), tensor.data(), copy.bytes());
    }
}

void Variable::check_assignment(int32_t assign, const Value &value, uint32_t replicas) const {
    value.check_count(replicas);
    if (value.has_rows()) {
        check_rows_assign(assign);
        for (uint32_t i = 0; i < value.tensors().size(); ++i) check_rows(*host(), assign, rows_for(value, i));
        return;
    }
    for (const Tensor &tensor : value.tensors()) check_write(assign, tensor, "the value");
    if (divided() && assign != MDIST_ASSIGN_SET)
        throw Failure(
            MDIST_ERR_FAILED_PRECONDITION,
            text("variable \"", spec_.name, "\" is summed when read, so adding to every copy would add ",
                 job_->replicas.count(), " times; add in a step (mdist_replica_assign), or set the new total"))
            .reason("sum_on_read");
}

void Variable::require_copies() const {
    if (copies_.size() != job_->replicas.local_count())
        throw of_failed_regroup(text("variable \"", spec_.name, "\""), job_->replicas);
}

void Variable::assign(int32_t assign, const ValuePointer &value) {
    require_copies();
    if (job_->reach.commands()) return store_->commands->assign(*this, assign, value);
    check_assignment(assign, *value, static_cast<uint32_t>(copies_.size()));
    for (uint32_t local = 0; local < copies_.size(); ++local) apply_value(local, assign, *value);
    finish_writing();
}

void Variable::apply_value(uint32_t local, int32_t assign, const Value &value) const {
    if (value.has_rows())
        apply_rows(local, assign, rows_for(value, local));
    else
        apply(local, assign, value.tensor_for(local));
}

void Variable::divide() const {
    for (uint32_t local = 0; local < copies_.size(); ++local)
        job_->replicas.device(local).divide(spec_.dtype, copies_[local].data(), job_->replicas.count(),
                                            copies_[local].elements());
}

void Variable::write(std::size_t offset, const void *bytes, std::size_t count) {
    for (uint32_t local = 0; local < copies_.size(); ++local)
        job_->replicas.device(local).copy_in(static_cast<char *>(copies_[local].data()) + offset, bytes, count);
}

void Variable::finish_writing() {
    if (divided()) divide();
    job_->replicas.finish_devices();
}

void Variable::assign_copy(uint32_t local, int32_t assign, const Value &value) {
    value.check_count(copies_.size());
    if (value.has_rows()) {
        check_rows_assign(assign);
        check_rows(job_->replicas.device(local), assign, rows_for(value, local));
        apply_rows(local, assign, rows_for(value, local));
    } else {
        check_write(assign, value.tensor_for(local), "the value");
        apply(local, assign, value.tensor_for(local));
    }
    job_->replicas.device(local).finish();
}

void Variable::require_readable() const {
    if (spec_.synchronization == MDIST_SYNC_ON_READ && spec_.aggregation == MDIST_AGGREGATION_NONE)
        throw Failure(MDIST_ERR_FAILED_PRECONDITION, text("variable \"", spec_.name,
                                                          "\" is synchronized on read and has aggregation NONE, so no "
                                                          "copy can be chosen to read; use mdist_variable_tensor"))
            .reason("no_aggregation");
}

void Variable::spread(uint64_t timeout_ns) const {
    if (job_->reach.commands()) store_->commands->spread(*this, timeout_ns);
}

Tensor Variable::read(uint64_t timeout_ns) const {
    if (job_->reach.commands()) return store_->commands->read(*this, timeout_ns);
    require_readable();
    if (spec_.synchronization != MDIST_SYNC_ON_READ) return first_copy();
    return job_->comm.with_memory("mdist_variable_read", [&] {
        const std::string subject = text("\"", spec_.name, "\", ");
        if (reduced_when_read())
            return reduce_tensors(*job_, Asker(*job_, calls::kReadVariable, timeout_ns).with(subject),
                                  spec_.aggregation == MDIST_AGGREGATION_MEAN ? MDIST_MEAN : MDIST_SUM, copies_);
        Tensor out = first_copy();
        const Call call = call_about(&calls::kReadVariable.meet, subject);
        if (Workers *const workers = job_->workers())
            workers->broadcast(call, out.data(), out.bytes(), job_->comm.timeout_or_own(timeout_ns));
        return out;
    });
}

Tensor Variable::first_copy() const {
    Tensor out = Tensor::allocate(*host(), spec_.dtype, spec_.shape);
    job_->replicas.device(0).copy_out(out.data(), copies_[0].data(), out.bytes());
    return out;
}

} // namespace mdist

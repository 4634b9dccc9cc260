// SPDX-License-Identifier: Apache-2.0
#include "strategy/serve/command.h"

#include "device/transfer/transfer.h"
#include "strategy/values/regroup.h"
#include "strategy/values/rows.h"
#include "strategy/values/structure.h"
#include "util/dtype.h"
#include "util/payload.h"
#include "util/text.h"

#include <utility>

namespace mdist {
namespace {

constexpr uint8_t kNone = 0;      // in place of a value's kind
constexpr uint8_t kRows = 0x80;   // added to the kind of a value that has rows
constexpr uint8_t kOnHost = 0x40; // added to the kind of a plain value on the host

/// More results than any program asks for, and few enough to allocate.
constexpr uint64_t kMostResults = 1 << 20;

// --- splitting

ValuePointer part_of_leaf(const Value &leaf, const Span &span) {
    const bool plain = leaf.kind() == MDIST_VALUE_PLAIN;
    std::vector<Tensor> tensors, indices;
    for (uint32_t replica = span.first; replica < (plain ? span.first + 1 : span.last); ++replica) {
        tensors.push_back(leaf.tensor_for(replica));
        if (leaf.has_rows()) indices.push_back(leaf.indices_for(replica));
    }
    auto values = std::make_shared<Value>(leaf.kind(), std::move(tensors));
    return leaf.has_rows() ? value_of_rows(Value(leaf.kind(), std::move(indices)), *values) : values;
}

// --- encoding

void write(PayloadWriter &out, const Shape &shape) {
    out.number(static_cast<uint32_t>(shape.rank));
    for (int32_t i = 0; i < shape.rank; ++i) out.number(shape.dims[i]);
}

void write(PayloadWriter &out, const Tensor &tensor) {
    const Tensor here = to_host(tensor);
    out.number(static_cast<uint32_t>(tensor.dtype()));
    write(out, tensor.shape());
    out.blob({static_cast<const char *>(here.data()), here.bytes()});
}

void write_leaf(PayloadWriter &out, const Value &leaf) {
    const bool stays = leaf.kind() == MDIST_VALUE_PLAIN && leaf.tensors()[0].on_host();
    const int kind = leaf.kind() | (leaf.has_rows() ? kRows : 0) | (stays ? kOnHost : 0);
    out.number(static_cast<uint8_t>(kind));
    const uint32_t tensors = leaf.kind() == MDIST_VALUE_PER_REPLICA ? static_cast<uint32_t>(leaf.tensors().size()) : 1;
    for (uint32_t i = 0; i < tensors; ++i) {
        write(out, leaf.tensors()[i]);
        if (leaf.has_rows()) write(out, leaf.indices_for(i));
    }
}

void write(PayloadWriter &out, const ValuePointer &value) {
    if (!value) {
        out.number(kNone);
    } else if (!value->is_structure()) {
        write_leaf(out, *value);
    } else {
        out.number(static_cast<uint8_t>(MDIST_VALUE_STRUCTURE)).number(static_cast<uint32_t>(value->leaves().size()));
        for (const Leaf &leaf : value->leaves()) {
            out.text(leaf.path);
            write_leaf(out, *leaf.value);
        }
    }
}

void write_values(PayloadWriter &out, const std::vector<ValuePointer> &values) {
    out.number(static_cast<uint32_t>(values.size()));
    for (const ValuePointer &value : values) write(out, value);
}

// --- decoding

/// Reads bytes from another worker. Checks everything before using it.
class Reader {
  public:
    /// Values belong to that worker's replicas. Tensors of replicas of other workers go to the host.
    Reader(std::string_view bytes, const Replicas &replicas, uint32_t worker)
        : in_(bytes), replicas_(replicas), worker_(worker) {}

    template <class... Fields>
    void operator()(Fields &&...fields) {
        in_(fields...);
        require(!in_.bad());
    }
    template <class Number>
    Number number() {
        const auto value = in_.number<Number>();
        require(!in_.bad());
        return value;
    }
    std::string text() {
        std::string value = in_.text();
        require(!in_.bad());
        return value;
    }
    Shape shape() {
        Shape shape;
        const auto rank = number<uint32_t>();
        require(rank <= MDIST_MAX_RANK);
        shape.rank = static_cast<int32_t>(rank);
        for (uint32_t i = 0; i < rank; ++i) shape.dims[i] = number<uint64_t>();
        return shape;
    }
    int32_t dtype() {
        const auto dtype = static_cast<int32_t>(number<uint32_t>());
        require(is_dtype(dtype));
        return dtype;
    }
    std::vector<ValuePointer> values() {
        std::vector<ValuePointer> all;
        for (auto count = number<uint32_t>(); count > 0; --count) all.push_back(value());
        return all;
    }
    void end() const { require(in_.complete()); }
    static void require(bool fine) {
        if (!fine)
            throw Failure(MDIST_ERR_DATA_LOSS,
                          "a worker sent bytes that are neither a valid command nor valid results");
    }

  private:
    Tensor tensor(Device &device) {
        const int32_t type = dtype();
        const Shape of = shape();
        const std::string_view bytes = in_.blob();
        require(!in_.bad() && checked_bytes(of, type, "the tensor") == bytes.size());
        const Tensor read = Tensor::allocate(device, type, of);
        device.copy_in(read.data(), bytes.data(), bytes.size());
        return read;
    }
    ValuePointer leaf(uint8_t kind) {
        const auto of = static_cast<mdist_value_kind_t>(kind & ~(kRows | kOnHost));
        const auto device = [&](uint32_t local) -> Device & {
            return worker_ == replicas_.worker() && (kind & kOnHost) == 0 ? replicas_.device(local) : *host();
        };
        require(of == MDIST_VALUE_PLAIN || of == MDIST_VALUE_MIRRORED || of == MDIST_VALUE_PER_REPLICA);
        const uint32_t locals = replicas_.span_of(worker_).count();
        std::vector<Tensor> tensors, indices;
        for (uint32_t i = 0; i < (of == MDIST_VALUE_PER_REPLICA ? locals : 1); ++i) {
            tensors.push_back(tensor(device(i)));
            if ((kind & kRows) != 0) indices.push_back(tensor(device(i)));
        }
        for (uint32_t i = 1; of == MDIST_VALUE_MIRRORED && i < locals; ++i) { // replicas of one place share memory
            tensors.push_back(brought_to(device(i), tensors[0]));
            if (!indices.empty()) indices.push_back(brought_to(device(i), indices[0]));
        }
        auto values = std::make_shared<Value>(of, std::move(tensors));
        return indices.empty() ? values : value_of_rows(Value(of, std::move(indices)), *values);
    }
    ValuePointer value() {
        const auto kind = number<uint8_t>();
        if (kind == kNone) return nullptr;
        if (kind != MDIST_VALUE_STRUCTURE) return leaf(kind);
        std::vector<Leaf> leaves;
        for (auto count = number<uint32_t>(); count > 0; --count) {
            std::string path = text();
            leaves.push_back({std::move(path), leaf(number<uint8_t>())});
        }
        return structure_of(std::move(leaves));
    }

    PayloadReader in_;
    const Replicas &replicas_;
    const uint32_t worker_;
};

} // namespace

Command Command::for_replicas(const Span &span) const {
    Command part = *this;
    for (ValuePointer &value : part.values)
        value = map_leaves(*value, [&](const Value &leaf, std::size_t) { return part_of_leaf(leaf, span); });
    return part;
}

std::string Command::encoded() const {
    PayloadWriter out;
    out(kind, name, variable, spec.name, spec.colocated_with, spec.dtype);
    write(out, spec.shape);
    out(spec.synchronization, spec.aggregation, assign, result_count, timeout_ns, limited(dropped, UINT32_MAX));
    write_values(out, values);
    return out.take();
}

Command Command::decoded(std::string_view bytes, const Replicas &replicas) {
    Reader in(bytes, replicas, replicas.worker());
    Command command;
    VariableSpec &spec = command.spec;
    in(command.kind, command.name, command.variable, spec.name, spec.colocated_with, spec.dtype);
    spec.shape = in.shape();
    in(spec.synchronization, spec.aggregation, command.assign, command.result_count, command.timeout_ns,
       limited(command.dropped, UINT32_MAX));
    Reader::require(command.result_count <= kMostResults);
    command.values = in.values();
    in.end();
    for (const ValuePointer &value : command.values) Reader::require(value != nullptr);
    Reader::require(command.kind != Kind::kAssign || command.values.size() == 1);
    return command;
}

std::string encode_values(const std::vector<ValuePointer> &values) {
    PayloadWriter out;
    write_values(out, values);
    return out.take();
}

std::vector<ValuePointer> decode_values(std::string_view bytes, const Replicas &replicas, uint32_t worker) {
    Reader in(bytes, replicas, worker);
    std::vector<ValuePointer> values = in.values();
    in.end();
    return values;
}

ValuePointer join_results(std::size_t index, const std::vector<ValuePointer> &by_worker, const Replicas &replicas) {
    std::vector<Part> parts;
    for (uint32_t worker = 0; worker < by_worker.size(); ++worker) {
        for (uint32_t local = 0; local < replicas.span_of(worker).count(); ++local) {
            Part &part = parts.emplace_back();
            if (const ValuePointer &value = by_worker[worker])
                visit_leaves(*value, [&](const Value &leaf, std::size_t i) {
                    part.push_back({leaf_path(*value, i), leaf.tensor_for(local)});
                });
        }
    }
    return regroup(text("result ", index), std::move(parts), replicas.first_id());
}

} // namespace mdist

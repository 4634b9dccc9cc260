// SPDX-License-Identifier: Apache-2.0
#include "pipelines.h"
#include "dataset_options.h"

#include "dataset.h"
#include "files.h"

#include <cstring>
#include <fstream>
#include <map>

namespace golden {
namespace {

// ---- Map, filter and dataset functions.

template <class Number>
int64_t sum_of(const mdist_tensor_t &tensor) {
    int64_t sum = 0;
    for (uint64_t i = 0; i < mdist_tensor_elements(&tensor); ++i)
        sum += static_cast<int64_t>(static_cast<const Number *>(tensor.data)[i]);
    return sum;
}
int64_t sum_of(const mdist_tensor_t &tensor) {
    return tensor.dtype == MDIST_INT32 ? sum_of<int32_t>(tensor) : sum_of<int64_t>(tensor);
}

struct Modulus {
    int64_t modulus, rest;
};

int32_t keep(const mdist_tensor_t *inputs, size_t count, int32_t *keep, void *user_data) {
    const auto *const wanted = static_cast<const Modulus *>(user_data);
    *keep = sum_of(inputs[count - 1]) % wanted->modulus == wanted->rest;
    return 0;
}

int32_t decode(const mdist_tensor_t *inputs, size_t, const mdist_tensor_t *outputs, size_t, void *user_data) {
    auto *const number = static_cast<int64_t *>(outputs[0].data);
    const auto *const bytes = static_cast<const char *>(inputs[0].data);
    if (user_data != nullptr) // a record of text
        *number = std::stoll(std::string(bytes, inputs[0].shape[0]));
    else
        std::memcpy(number, bytes, sizeof *number);
    return 0;
}

template <class Number>
void add(const mdist_tensor_t &from, const mdist_tensor_t &to) {
    for (uint64_t i = 0; i < mdist_tensor_elements(&from); ++i)
        static_cast<Number *>(to.data)[i] = static_cast<const Number *>(from.data)[i] + Number{10000};
}

int32_t add_to_last(const mdist_tensor_t *inputs, size_t count, const mdist_tensor_t *outputs, size_t, void *) {
    for (size_t i = 0; i + 1 < count; ++i) {
        const size_t bytes =
            mdist_tensor_elements(&inputs[i]) * mdist_dtype_size(static_cast<mdist_dtype_t>(inputs[i].dtype));
        if (bytes != 0) std::memcpy(outputs[i].data, inputs[i].data, bytes);
    }
    const mdist_tensor_t &from = inputs[count - 1], &to = outputs[count - 1];
    from.dtype == MDIST_INT32 ? add<int32_t>(from, to) : add<int64_t>(from, to);
    return 0;
}

void free_modulus(void *user_data) {
    delete static_cast<Modulus *>(user_data);
}

// ---- Pipelines.

class Pipeline {
  public:
    Pipeline(const Json &spec, const std::string &folder, const mdist_input_context_t *context)
        : spec_(spec), context_(context) {
        begin(folder);
        for (const Json &op : spec["ops"]) apply(op);
    }
    Dataset take() { return std::move(made_); }

  private:
    /// Replaces made_ by the result of `make`.
    template <class Make>
    void then(Make make) {
        Dataset next([&](mdist_dataset_t **out, mdist_error_t **error) { return make(made_.get(), out, error); });
        made_ = std::move(next);
    }

    static Dataset range(int64_t first, int64_t count) {
        return Dataset([&](mdist_dataset_t **out, mdist_error_t **error) {
            return mdist_dataset_range(first, first + count, 1, out, nullptr, error);
        });
    }

    /// Makes a dataset of float32 [n, 2] and int32 [n].
    static Dataset slices(std::size_t count) {
        struct Arrays {
            std::vector<float> floats;
            std::vector<int32_t> numbers;
        };
        auto *const arrays = new Arrays;
        for (std::size_t i = 0; i < 2 * count; ++i) arrays->floats.push_back(static_cast<float>(i));
        for (std::size_t i = 0; i < count; ++i) arrays->numbers.push_back(static_cast<int32_t>(i));
        const mdist_tensor_t both[] = {{arrays->floats.data(), MDIST_FLOAT32, 2, 0, 0, {count, 2}},
                                       {arrays->numbers.data(), MDIST_INT32, 1, 0, 0, {count}}};
        const auto free_arrays = [](void *user_data) { delete static_cast<Arrays *>(user_data); };
        return Dataset([&](mdist_dataset_t **out, mdist_error_t **error) {
            return mdist_dataset_from_tensors(both, 2, arrays, free_arrays, out, nullptr, error);
        });
    }

    Dataset names(const std::string &folder, const std::string &kind, const std::string &set) const {
        const std::vector<std::string> names = names_of(folder, kind, set);
        std::vector<const char *> pointers;
        for (const std::string &name : names) pointers.push_back(name.c_str());
        return Dataset([&](mdist_dataset_t **out, mdist_error_t **error) {
            return mdist_dataset_files(pointers.data(), pointers.size(), out, nullptr, error);
        });
    }

    void begin(const std::string &folder) {
        const Json &src = spec_["src"];
        if (src[0] == "files")
            read(src, folder);
        else
            made_ = src[0] == "range" ? range(0, src[1]) : slices(src[1]);
    }

    void read(const Json &src, const std::string &folder) {
        const std::string kind = src[1];
        text_ = kind == "text";
        made_ = names(folder, kind, src[2]);
        if (spec_.contains("fhint")) shard(MDIST_ONE_PER_WORKER, 0);
        mdist_read_options_t options = {};
        options.struct_size = sizeof options;
        options.compression = kind == "tfrecord_gz" ? MDIST_COMPRESSION_GZIP : MDIST_COMPRESSION_NONE;
        options.cycle_length = src[3];
        options.block_length = src[4];
        then([&](auto *from, auto **out, auto **error) {
            if (text_) return mdist_dataset_text_lines(from, out, &options, error);
            if (kind == "fixed") return mdist_dataset_fixed_records(from, 8, 0, 0, out, &options, error);
            return mdist_dataset_tfrecords(from, out, &options, error);
        });
    }

    void apply(const Json &op) {
        const std::string name = op[0];
        if (name == "decode") return decoded();
        if (name == "map") return mapped();
        if (name == "shard") return shard(op[1], op[2]);
        if (name == "shard_ctx") return shard(context_->pipeline_count, context_->pipeline);
        if (name == "shard_hint") return shard(MDIST_ONE_PER_WORKER, 0);
        if (name == "filter") return filtered(op[1], op[2]);
        if (name == "bfilter") return filtered(op[1], 0);
        if (name == "zip_range" || name == "concat_range" || name == "bconcat_range") return joined(op);
        if (name == "rebatch") return rebatched(op);
        then([&](auto *from, auto **out, auto **error) { return plain(name, op, from, out, error); });
    }

    static mdist_status_t plain(const std::string &name, const Json &op, const mdist_dataset_t *from,
                                mdist_dataset_t **out, mdist_error_t **error) {
        if (name == "cache") return mdist_dataset_cache(from, out, nullptr, error);
        if (name == "unbatch") return mdist_dataset_unbatch(from, out, nullptr, error);
        if (name == "decode_var") return mdist_dataset_prefetch(from, 1, out, nullptr, error); // keeps the bytes
        if (name == "take") return mdist_dataset_take(from, op[1], out, nullptr, error);
        if (name == "skip") return mdist_dataset_skip(from, op[1], out, nullptr, error);
        if (name == "prefetch") return mdist_dataset_prefetch(from, op[1], out, nullptr, error);
        if (name == "repeat")
            return mdist_dataset_repeat(from, op[1] == -1 ? MDIST_FOREVER : op[1].get<uint64_t>(), out, nullptr, error);
        if (name == "batch")
            return mdist_dataset_batch(from, op[1], out, op[2].get<bool>() ? &whole_batches : nullptr, error);
        if (name == "padded_batch")
            return mdist_dataset_padded_batch(from, op[1], nullptr, 0, out,
                                              op[2].get<bool>() ? &whole_batches : nullptr, error);
        throw std::runtime_error("no transform is called " + name);
    }

    void shard(uint64_t shards, uint64_t index) {
        then([&](auto *from, auto **out, auto **error) {
            return mdist_dataset_shard(from, shards, index, out, nullptr, error);
        });
    }

    void rebatched(const Json &op) {
        const std::vector<uint64_t> sizes = op[1];
        then([&](auto *from, auto **out, auto **error) {
            return mdist_dataset_rebatch(from, sizes.data(), sizes.size(), out,
                                         op[2].get<bool>() ? &whole_batches : nullptr, error);
        });
    }

    void filtered(int64_t modulus, int64_t rest) {
        auto *const wanted = new Modulus{modulus, rest};
        then([&](auto *from, auto **out, auto **error) {
            return mdist_dataset_filter(from, keep, wanted, free_modulus, out, nullptr, error);
        });
    }

    void decoded() {
        const mdist_tensor_t scalar = {nullptr, MDIST_INT64, 0, 0, 0, {}};
        static char is_text;
        then([&](auto *from, auto **out, auto **error) {
            return mdist_dataset_map(from, decode, text_ ? &is_text : nullptr, nullptr, &scalar, 1, out, nullptr,
                                     error);
        });
    }

    void mapped() {
        std::vector<mdist_tensor_t> outputs(mdist_dataset_component_count(made_.get()));
        for (std::size_t i = 0; i < outputs.size(); ++i)
            ok([&](mdist_error_t **error) {
                return mdist_dataset_component(made_.get(), i, &outputs[i], nullptr, nullptr, error);
            });
        then([&](auto *from, auto **out, auto **error) {
            return mdist_dataset_map(from, add_to_last, nullptr, nullptr, outputs.data(), outputs.size(), out, nullptr,
                                     error);
        });
    }

    void joined(const Json &op) {
        Dataset more = range(op[0] == "concat_range" ? 1000 : op[0] == "zip_range" ? 2000 : 3000, op[1]);
        if (op[0] == "bconcat_range") {
            more = Dataset([&](mdist_dataset_t **out, mdist_error_t **error) {
                return mdist_dataset_batch(more.get(), op[2], out, nullptr, error);
            });
        }
        then([&](auto *from, auto **out, auto **error) {
            const mdist_dataset_t *both[] = {from, more.get()};
            if (op[0] == "zip_range") return mdist_dataset_zip(both, 2, out, nullptr, error);
            return mdist_dataset_concatenate(both[0], both[1], out, nullptr, error);
        });
    }

    const Json &spec_;
    const mdist_input_context_t *context_; // nullptr outside of a dataset function
    bool text_ = false;
    Dataset made_;
};

// ---- Results.

struct Making {
    const Json &spec;
    const std::string &folder;
};

int32_t make(const mdist_input_context_t *context, mdist_dataset_t **out, void *user_data) {
    const auto *const making = static_cast<const Making *>(user_data);
    try {
        *out = Pipeline(making->spec, making->folder, context).take().release();
        return 0;
    } catch (const std::exception &) {
        return 1;
    }
}

int32_t policy_of(const std::string &name) {
    static const std::map<std::string, int32_t> policies = {{"AUTO", MDIST_SHARD_AUTO},
                                                            {"FILE", MDIST_SHARD_FILE},
                                                            {"DATA", MDIST_SHARD_DATA},
                                                            {"HINT", MDIST_SHARD_MARKED},
                                                            {"OFF", MDIST_SHARD_OFF}};
    return policies.at(name);
}

Dataset distributed(mdist_strategy_t *strategy, const Json &spec, const std::string &folder) {
    mdist_input_options_t options = {};
    options.struct_size = sizeof options;
    if (spec["mode"] == "from_fn") {
        Making making = {spec, folder};
        return Dataset([&](mdist_dataset_t **out, mdist_error_t **error) {
            return mdist_distribute_from_function(strategy, make, &making, out, &options, error);
        });
    }
    options.policy = policy_of(spec["policy"]);
    const Dataset source = Pipeline(spec, folder, nullptr).take();
    return Dataset([&](mdist_dataset_t **out, mdist_error_t **error) {
        return mdist_distribute_dataset(strategy, source.get(), out, &options, error);
    });
}

template <class Number>
Json numbers_of(const mdist_tensor_t &tensor) {
    Json numbers = Json::array();
    for (uint64_t i = 0; i < mdist_tensor_elements(&tensor); ++i)
        numbers.push_back(static_cast<const Number *>(tensor.data)[i]);
    return numbers;
}

Json shown(const mdist_tensor_t &tensor) {
    Json shape = Json::array();
    for (int32_t i = 0; i < tensor.rank; ++i) shape.push_back(tensor.shape[i]);
    switch (tensor.dtype) {
        case MDIST_INT64:
            return {{"s", shape}, {"v", numbers_of<int64_t>(tensor)}, {"d", "int64"}};
        case MDIST_INT32:
            return {{"s", shape}, {"v", numbers_of<int32_t>(tensor)}, {"d", "int32"}};
        case MDIST_FLOAT32:
            return {{"s", shape}, {"v", numbers_of<float>(tensor)}, {"d", "float32"}};
        default:
            return {{"s", shape}, {"v", numbers_of<uint8_t>(tensor)}, {"d", "uint8"}};
    }
}

/// Converts a step of all local replicas to JSON.
Json shown(const std::vector<mdist_value_t *> &components, uint32_t replicas) {
    Json step = Json::array();
    for (uint32_t replica = 0; replica < replicas; ++replica) {
        step.push_back(Json::array());
        for (mdist_value_t *const component : components) {
            mdist_tensor_t tensor;
            ok([&](mdist_error_t **error) { return mdist_value_tensor(component, replica, &tensor, error); });
            step.back().push_back(shown(tensor));
        }
    }
    return step;
}

/// Writes up to 14 steps into `steps`. Returns "end" or "max".
const char *iterate(mdist_strategy_t *strategy, const Json &spec, const std::string &folder, Json &steps) {
    constexpr std::size_t kMostSteps = 14;
    const Dataset dataset = distributed(strategy, spec, folder);
    struct Iteration {
        mdist_iterator_t *iterator = nullptr;
        ~Iteration() { mdist_iterator_destroy(iterator); }
    } iteration;
    ok([&](mdist_error_t **error) { return mdist_iterator_create(dataset.get(), &iteration.iterator, error); });
    std::vector<mdist_value_t *> components(mdist_dataset_component_count(dataset.get()));
    while (steps.size() < kMostSteps) {
        mdist_status_t status = MDIST_OK;
        ok([&](mdist_error_t **error) {
            status = mdist_iterator_next(iteration.iterator, components.data(), components.size(), error);
            return status == MDIST_END ? MDIST_OK : status;
        });
        if (status == MDIST_END) return "end";
        steps.push_back(shown(components, mdist_strategy_local_replica_count(strategy)));
        for (mdist_value_t *const component : components) mdist_value_destroy(component);
    }
    return "max";
}

} // namespace

std::vector<Json> cases_in(const char *path) {
    std::vector<Json> cases;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) cases.push_back(Json::parse(line));
    return cases;
}

Json dealt(mdist_strategy_t *strategy, const Json &spec, const std::string &folder) {
    Json answer = {{"steps", Json::array()}};
    try {
        answer["end"] = iterate(strategy, spec, folder, answer["steps"]);
    } catch (const Failed &failed) {
        answer["end"] = failed.what();
    }
    return answer;
}

} // namespace golden

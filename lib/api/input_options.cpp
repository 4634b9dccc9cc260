// SPDX-License-Identifier: Apache-2.0
#include "api/input_options.h"

#include <algorithm>

#include "api/check.h"
#include "util/failure.h"
#include "util/text.h"

namespace mdist {
namespace {

constexpr uint32_t kFlags = MDIST_INPUT_NO_SPLIT | MDIST_INPUT_WHOLE_STEPS | MDIST_INPUT_PLACE_ON_DEVICE;

void check_range(int32_t value, int32_t least, int32_t most, const char *name, const char *choices) {
    if (value < least || value > most) throw invalid(text("options.", name, " is ", value, "; use ", choices));
}

void check_numbers(const mdist_input_options_t &options) {
    if ((options.flags & ~kFlags) != 0)
        throw invalid(text("options.flags is ", options.flags,
                           "; combine only MDIST_INPUT_NO_SPLIT (1), _WHOLE_STEPS (2) and _PLACE_ON_DEVICE (4)"));
    check_range(options.policy, MDIST_SHARD_OFF, MDIST_SHARD_MARKED, "policy",
                "MDIST_SHARD_OFF (-1), _AUTO (0), _FILE (1), _DATA (2) or _MARKED (3)");
    check_range(options.uneven, MDIST_UNEVEN_DEFAULT, MDIST_UNEVEN_DROP, "uneven",
                "MDIST_UNEVEN_DEFAULT (0), _SPREAD (1) or _DROP (2)");
    check_range(options.replication_mode, MDIST_REPLICATION_PER_WORKER, MDIST_REPLICATION_PER_REPLICA,
                "replication_mode", "MDIST_REPLICATION_PER_WORKER (0) or _PER_REPLICA (1)");
    check_range(options.fetch_to_device, -1, 1, "fetch_to_device",
                "1 (yes), -1 (no) or 0 (what the configuration says)");
    need_array(options.weights, options.weight_count, "options.weights");
}

/// Checks which options fit together, as in TensorFlow.
void check_place(const mdist_input_options_t &options) {
    if ((options.flags & MDIST_INPUT_PLACE_ON_DEVICE) == 0) return;
    if (options.replication_mode != MDIST_REPLICATION_PER_REPLICA)
        throw invalid(
            "options.flags has MDIST_INPUT_PLACE_ON_DEVICE, but options.replication_mode is PER_WORKER. A dataset for "
            "all replicas of a worker has no device of its own. Set PER_REPLICA, or remove the flag");
    if (options.fetch_to_device == 1)
        throw invalid(
            "options.flags has MDIST_INPUT_PLACE_ON_DEVICE, but options.fetch_to_device is 1. Elements made on a "
            "device need no fetch. Set fetch_to_device to 0, or remove the flag");
}

/// Checks `weight_count` against the number of replicas in the job.
void check_weights(const mdist_input_options_t &options, uint64_t replicas) {
    if (options.weight_count != 0 && options.weight_count != replicas)
        throw invalid(text("options.weight_count is ", options.weight_count, "; the job has ", replicas, " replicas"));
}

InputChoices choices_of(const mdist_input_options_t &options, const Inputs &inputs) {
    check_numbers(options);
    check_place(options);
    InputChoices choices;
    choices.flags = options.flags;
    choices.by_replica = options.replication_mode == MDIST_REPLICATION_PER_REPLICA;
    const bool placed = (options.flags & MDIST_INPUT_PLACE_ON_DEVICE) != 0;
    const bool fetches = options.fetch_to_device != 0 ? options.fetch_to_device == 1 : inputs.on_devices && !placed;
    choices.on_devices = options.fetch_to_device != -1 || placed;
    if (fetches) choices.ahead = std::max<uint64_t>(options.buffer_size, 1);
    return choices;
}

mdist_input_options_t read(const mdist_input_options_t *options) {
    return read_options(options, "mdist_input_options_t");
}

} // namespace

std::string InputChoices::text() const {
    std::string out = mdist::text("flags ", flags, "\nuneven ", dealing.uneven, "\nweights");
    for (const double weight : dealing.weights) out += mdist::text(' ', exact_text(weight));
    return out + '\n';
}

InputChoices choices_for_dataset(const mdist_input_options_t *given, const Inputs &inputs, const InputLayout &layout) {
    const mdist_input_options_t options = read(given);
    InputChoices choices = choices_of(options, inputs);
    if (choices.by_replica)
        throw Failure(MDIST_ERR_UNSUPPORTED,
                      "options.replication_mode is PER_REPLICA, which works only with mdist_distribute_from_function. "
                      "Call that, or set PER_WORKER")
            .reason("per_replica");
    check_weights(options, layout.total());
    Dealing &dealing = choices.dealing;
    dealing.policy = options.policy == MDIST_SHARD_AUTO ? inputs.policy : options.policy;
    dealing.uneven = options.uneven;
    dealing.weights.assign(options.weights, options.weights + options.weight_count);
    dealing.by_replica = inputs.by_replica;
    dealing.split = (options.flags & MDIST_INPUT_NO_SPLIT) == 0;
    if (!dealing.split && (dealing.uneven != MDIST_UNEVEN_DEFAULT || !dealing.weights.empty()))
        throw invalid(
            "options.uneven and options.weights have no effect with MDIST_INPUT_NO_SPLIT. Set both to 0, or remove the "
            "flag");
    return choices;
}

InputChoices choices_for_function(const mdist_input_options_t *given, const Inputs &inputs, const InputLayout &layout) {
    const mdist_input_options_t options = read(given);
    InputChoices choices = choices_of(options, inputs);
    if (options.policy != MDIST_SHARD_AUTO || options.uneven != MDIST_UNEVEN_DEFAULT || options.weight_count != 0 ||
        options.weights != nullptr)
        throw invalid(
            "options.policy, uneven and weights must be 0 with mdist_distribute_from_function. The dataset function "
            "decides from its context what each worker reads");
    if (choices.by_replica && layout.workers() != 1)
        throw Failure(
            MDIST_ERR_UNSUPPORTED,
            text("options.replication_mode is PER_REPLICA, which needs a job of one worker, but this job has ",
                 layout.workers(), " workers. Set PER_WORKER"))
            .reason("per_replica");
    return choices;
}

} // namespace mdist

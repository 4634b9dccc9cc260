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
    if (value < least || value > most) throw invalid(text("options.", name, " is ", value, "; take ", choices));
}

void check_numbers(const mdist_input_options_t &options) {
    if ((options.flags & ~kFlags) != 0)
        throw invalid(text("options.flags is ", options.flags,
                           "; take of MDIST_INPUT_NO_SPLIT (1), _WHOLE_STEPS (2) and _PLACE_ON_DEVICE (4)"));
    check_range(options.policy, MDIST_SHARD_OFF, MDIST_SHARD_BY_HINT, "policy",
                "MDIST_SHARD_OFF (-1), _AUTO (0), _FILE (1), _DATA (2) or _BY_HINT (3)");
    check_range(options.uneven, MDIST_UNEVEN_DEFAULT, MDIST_UNEVEN_DROP, "uneven",
                "MDIST_UNEVEN_DEFAULT (0), _SPREAD (1) or _DROP (2)");
    check_range(options.replication_mode, MDIST_REPLICATION_PER_WORKER, MDIST_REPLICATION_PER_REPLICA,
                "replication_mode", "MDIST_REPLICATION_PER_WORKER (0) or _PER_REPLICA (1)");
    check_range(options.fetch_to_device, -1, 1, "fetch_to_device",
                "1 (yes), -1 (no) or 0 (what the configuration says)");
    need_array(options.weights, options.weight_count, "options.weights");
}

/// What goes together, as in TensorFlow.
void check_place(const mdist_input_options_t &options) {
    if ((options.flags & MDIST_INPUT_PLACE_ON_DEVICE) == 0) return;
    if (options.replication_mode != MDIST_REPLICATION_PER_REPLICA)
        throw invalid(
            "options.flags has MDIST_INPUT_PLACE_ON_DEVICE, and options.replication_mode is PER_WORKER: a dataset for "
            "all replicas of a worker has no device; take MDIST_REPLICATION_PER_REPLICA");
    if (options.fetch_to_device == 1)
        throw invalid(
            "options.flags has MDIST_INPUT_PLACE_ON_DEVICE, and options.fetch_to_device is 1: what is made on a device "
            "is not fetched to it; take one of the two");
}

/// The `weight_count` that a job of so many replicas wants.
void check_weights(const mdist_input_options_t &options, uint64_t replicas) {
    if (options.weight_count != 0 && options.weight_count != replicas)
        throw invalid(text("options.weight_count is ", options.weight_count, "; the job has ", replicas, " replicas"));
}

InputChoices choices_of(const mdist_input_options_t &options, const Strategy &strategy) {
    check_numbers(options);
    check_place(options);
    InputChoices choices;
    choices.flags = options.flags;
    choices.by_replica = options.replication_mode == MDIST_REPLICATION_PER_REPLICA;
    const bool placed = (options.flags & MDIST_INPUT_PLACE_ON_DEVICE) != 0;
    const bool fetches =
        options.fetch_to_device != 0 ? options.fetch_to_device == 1 : strategy.prefetches_on_device() && !placed;
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

InputChoices choices_for_dataset(const mdist_input_options_t *given, const Strategy &strategy, const Span &span) {
    const mdist_input_options_t options = read(given);
    InputChoices choices = choices_of(options, strategy);
    if (choices.by_replica)
        throw Failure(
            MDIST_ERR_UNSUPPORTED,
            "options.replication_mode is PER_REPLICA, which mdist_distribute_dataset has not: it deals out one "
            "dataset; take mdist_distribute_from_function")
            .reason("per_replica");
    check_weights(options, uint64_t{span.workers} * span.replicas);
    Dealing &dealing = choices.dealing;
    dealing.policy = options.policy == MDIST_SHARD_AUTO ? strategy.shard_policy() : options.policy;
    dealing.uneven = options.uneven;
    dealing.weights.assign(options.weights, options.weights + options.weight_count);
    dealing.by_replica = strategy.deals_by_replica();
    dealing.split = (options.flags & MDIST_INPUT_NO_SPLIT) == 0;
    if (!dealing.split && (dealing.uneven != MDIST_UNEVEN_DEFAULT || !dealing.weights.empty()))
        throw invalid(
            "options.flags has MDIST_INPUT_NO_SPLIT, so nothing is shared out, and options.uneven or "
            "options.weights says how; leave them 0");
    return choices;
}

InputChoices choices_for_function(const mdist_input_options_t *given, const Strategy &strategy, const Span &span) {
    const mdist_input_options_t options = read(given);
    InputChoices choices = choices_of(options, strategy);
    if (options.policy != MDIST_SHARD_AUTO || options.uneven != MDIST_UNEVEN_DEFAULT || options.weight_count != 0 ||
        options.weights != nullptr)
        throw invalid(
            "options.policy, uneven and weights must be 0 here: who reads what, and how many rows, is the "
            "function's part, by its context");
    if (choices.by_replica && span.workers != 1)
        throw Failure(MDIST_ERR_UNSUPPORTED, text("options.replication_mode is PER_REPLICA, which is for one worker, "
                                                  "and this job has ",
                                                  span.workers, "; take PER_WORKER"))
            .reason("per_replica");
    return choices;
}

} // namespace mdist

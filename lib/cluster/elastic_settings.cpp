// SPDX-License-Identifier: Apache-2.0
#include "cluster/elastic_settings.h"

#include "cluster/config.h"
#include "cluster/names.h"
#include "util/failure.h"
#include "util/text.h"

namespace mdist {
namespace {

constexpr uint32_t kMostElasticReplicas = 4096;
constexpr uint32_t kMostCopies = 16;

Failure contradiction(std::string sentence) {
    return Failure(MDIST_ERR_CONFIG, std::move(sentence)).reason("contradiction");
}

/// "elastic.max_workers is 4 (cluster.yaml:3:5)"
std::string as_set(const Config &config, const char *key) {
    return text(key, " is ", config.text(key), " (", config.origin(key), ")");
}

uint32_t number_within(const Config &config, const char *key, uint64_t least, uint64_t most) {
    const uint64_t number = config.count(key);
    if (number < least || number > most)
        throw contradiction(text(as_set(config, key), "; with elastic.replicas ", config.text("elastic.replicas"),
                                 " it must be ", least, " to ", most));
    return static_cast<uint32_t>(number);
}

/// Refuses a key that is set to anything but what an elastic job does.
void refuse_others(const Config &config, const char *key, std::string_view only, const char *why) {
    if (config.is_set(key) && config.text(key) != only)
        throw contradiction(text(as_set(config, key), " and elastic.replicas is set: ", why));
}

void refuse_what_does_not_fit(const Config &config) {
    refuse_others(config, "strategy", "multi_worker", "an elastic job is multi_worker. Remove the key");
    if (config.is_set("devices") && lower_case(config.text("devices")) != "auto" &&
        config.devices()[0].kind == DeviceKind::kCpu)
        throw contradiction(text(as_set(config, "devices"),
                                 " and elastic.replicas is set: an elastic job has one CPU device for each of its "
                                 "replicas, however many a worker has. Name GPUs, or remove the key"));
    for (const char *key : {"communication.implementation", "cross_device_ops"})
        if (config.text(key) == "nccl")
            throw contradiction(
                text(as_set(config, key),
                     " and elastic.replicas is set: NCCL adds in an order that depends on which worker has "
                     "which replica, so the results would change with a regroup. Use auto"));
    refuse_others(config, "data.order", "replica",
                  "in an elastic job each replica gets the same rows on whatever worker. Remove the key");
    if (config.text("data.auto_shard_policy") != "auto" && config.text("data.auto_shard_policy") != "data")
        throw Failure(MDIST_ERR_CONFIG,
                      text(as_set(config, "data.auto_shard_policy"),
                           " and elastic.replicas is set: the input of an elastic job belongs to replicas, not to "
                           "workers, which needs auto or data"))
            .reason("elastic_input");
    refuse_others(config, "cross_device_ops", "auto", "elastic jobs choose it themselves. Remove the key");
}

} // namespace

ElasticSettings elastic_settings(const Config &config) {
    ElasticSettings settings;
    if (config.count("elastic.replicas") == 0) {
        for (const ConfigKey &key : config_keys())
            if (std::string_view(key.name).starts_with("elastic.") && config.is_set(key.name) &&
                key.name != std::string_view("elastic.replicas"))
                throw contradiction(text(as_set(config, key.name),
                                         ", but elastic.replicas is not set. Set it to the number of replicas that the "
                                         "job has for its whole life"));
        return settings;
    }
    settings.replicas = number_within(config, "elastic.replicas", 1, kMostElasticReplicas);
    settings.max_workers = settings.replicas;
    if (config.is_set("elastic.max_workers"))
        settings.max_workers = number_within(config, "elastic.max_workers", 1, settings.replicas);
    settings.min_workers = number_within(config, "elastic.min_workers", 1, settings.max_workers);
    settings.wait_ns = config.duration_ns("elastic.wait");
    settings.copies = number_within(config, "elastic.copies", 1, kMostCopies);
    settings.rewind_bytes = config.bytes("elastic.rewind_bytes");
    settings.max_losses_per_commit = number_within(config, "elastic.max_losses_per_commit", 0, INT32_MAX);
    settings.state = config.text("elastic.state");
    settings.open = config.text("elastic.open") == "true";
    refuse_what_does_not_fit(config);
    return settings;
}

} // namespace mdist

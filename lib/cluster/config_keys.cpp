// SPDX-License-Identifier: Apache-2.0
#include "cluster/config_keys.h"

#include <vector>

#include "cluster/words.h"
#include "util/failure.h"
#include "util/text.h"
#include "util/utf8.h"

namespace mdist {

namespace {

using enum KeyType;

constexpr std::size_t kManyAddresses = 65536;

constexpr ConfigKey kKeys[] = {
    {"strategy", kChoice, "auto", "auto, mirrored, multi_worker, in_graph", 0,
     "mirrored: this worker alone; multi_worker: all workers of the cluster; in_graph: the same, all led by one of "
     "them; "
     "auto: what the cluster calls for"},
    {"cluster.chief", kAddresses, "", "", 1, "address (host:port) of the chief, which is also worker 0"},
    {"cluster.worker", kAddresses, "", "", kManyAddresses, "addresses (host:port) of the workers, in order"},
    {"cluster.evaluator", kAddresses, "", "", 1, "address of the evaluator, which takes no part in training"},
    {"cluster.ps", kAddresses, "", "", kManyAddresses, "addresses of parameter servers"},
    {"task.type", kChoice, "", "chief, worker, evaluator, ps", 0, "which list of the cluster this worker stands in"},
    {"task.index", kCount, "", "", 0, "its place in that list, from 0"},
    {"devices", kDevices, "auto", "", 0, "one replica on each: auto, cpu:0,cpu:1, cpu*4, gpu:0,gpu:1, gpu:0*2"},
    {"num_gpus", kCount, "", "", 0, "replicas on gpu:0 to gpu:n-1, for 0 one on the CPU; instead of devices"},
    {"num_gpus_per_worker", kCount, "", "", 0, "the same by its other name"},
    {"executor", kChoice, "threads", "threads, caller", 0,
     "who runs the steps: one thread per replica, or the calling thread one after another"},
    {"cross_device_ops", kChoice, "auto", "auto, nccl, hierarchical_copy, one_device", 0,
     "who reduces in this process: all devices, which is hierarchical_copy too, or one of them"},
    {"reduce_to_device", kDevices, "", "", 0, "the device that reduces with one_device; the first, if not set"},
    {"communication.implementation", kChoice, "auto", "auto, ring, nccl, inproc, shm, tcp, gloo", 0,
     "what moves the bytes; ring is everything but nccl"},
    {"communication.timeout", kDuration, "600s", "", 0, "longest wait of a collective for the others"},
    {"communication.join_timeout", kDuration, "300s", "", 0, "longest wait for all workers to come up"},
    {"communication.heartbeat_timeout", kDuration, "10s", "", 0, "silence after which a worker counts as lost"},
    {"communication.bytes_per_pack", kBytes, "0", "", 0,
     "size past which a reduction of many tensors goes on in another operation; 0: all in one"},
    {"communication.num_packs", kCount, "1", "", 0,
     "operations that a reduction of many tensors is cut into; 0: one for each tensor"},
    {"communication.checksum", kChoice, "none", "none, crc32c", 0,
     "what finds out bytes that change between hosts without TCP's notice; not with gloo"},
    {"secret_file", kText, "", "", 0, "file with the secret that workers of the job prove to each other"},
    {"data.auto_shard_policy", kChoice, "auto", "auto, file, data, off, hint", 0, "how workers share out the input"},
    {"data.prefetch_on_device", kChoice, "false", "false, true", 0,
     "true: a distributed dataset makes the next element on each device while the program works on one"},
    {"data.order", kChoice, "tf", "tf, replica", 0,
     "tf: as TensorFlow deals out batches; replica: the same rows in every layout of workers and replicas"},
    {"gpu.blocking", kChoice, "false", "false, true, 0, 1", 0,
     "true: functions of a step on a GPU wait for their own work, which finds out who is to blame for what fails"},
    {"log.level", kChoice, "warn", "off, error, warn, info, debug", 0,
     "messages that are written; where it is not set, MDIST_LOG decides"},
};

constexpr const char *kReserved[] = {"MDIST_BOOTSTRAP", "MDIST_CONFIG",  "MDIST_CUDA_MODULE", "MDIST_FAKE_GPU",
                                     "MDIST_JOB_ID",    "MDIST_LIBRARY", "MDIST_LOCAL_RANK",  "MDIST_LOCAL_SIZE",
                                     "MDIST_LOG",       "MDIST_NODES",   "MDIST_NODE_RANK",   "MDIST_RANK",
                                     "MDIST_RESTART",   "MDIST_SIZE",    "MDIST_STORE",       "MDIST_STORE_OWNER"};

std::string advice_for(std::string_view name) {
    std::string group;
    std::vector<std::string> names;
    for (const ConfigKey &key : kKeys) {
        std::string_view known = key.name;
        names.emplace_back(known);
        if (known.size() > name.size() && known.starts_with(name) && known[name.size()] == '.')
            group += text(group.empty() ? "" : ", ", known);
    }
    if (!group.empty()) return text("it is a group, with the keys ", group);
    std::string_view nearest = nearest_name(lower_case(name), names);
    return nearest.empty() ? "docs/configuration.md lists the keys" : text("did you mean ", nearest, "?");
}

} // namespace

std::string ConfigKey::environment_name() const {
    std::string variable = "MDIST_";
    for (const char *c = name; *c != '\0'; ++c)
        variable += *c == '.' ? '_' : *c >= 'a' && *c <= 'z' ? static_cast<char>(*c - ('a' - 'A')) : *c;
    return variable;
}

std::span<const ConfigKey> config_keys() {
    return kKeys;
}

std::span<const char *const> reserved_variables() {
    return kReserved;
}

const ConfigKey *find_config_key(std::string_view name) {
    for (const ConfigKey &key : kKeys)
        if (name == key.name) return &key;
    return nullptr;
}

const ConfigKey &config_key(std::string_view name) {
    if (const ConfigKey *key = find_config_key(name)) return *key;
    throw Failure(MDIST_ERR_CONFIG, text(quoted(name), " is no configuration key; ", advice_for(name)))
        .reason("unknown_key");
}

} // namespace mdist

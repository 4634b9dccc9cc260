// SPDX-License-Identifier: Apache-2.0
#include "cluster/config_keys.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "cluster/config_values.h"
#include "cluster/devices.h"
#include "cluster/names.h"
#include "util/failure.h"
#include "util/text.h"
#include "util/utf8.h"

namespace mdist {

namespace {

using enum KeyType;

constexpr std::size_t kManyAddresses = 65536;

constexpr ConfigKey kTable[] = {
    {"strategy", kChoice, "auto", "auto, mirrored, multi_worker, in_graph", 0,
     "Which workers train together, and who leads them."},
    {"cluster.chief", kAddresses, "", "", 1, "Address of the chief, which has rank 0."},
    {"cluster.worker", kAddresses, "", "", kManyAddresses, "Addresses of the workers, in order."},
    {"cluster.evaluator", kAddresses, "", "", 1, "Address of the evaluator, which takes no part in training."},
    {"cluster.ps", kAddresses, "", "", kManyAddresses, "Addresses of parameter servers."},
    {"task.type", kChoice, "", "chief, worker, evaluator, ps", 0, "The kind of this worker's task in the cluster."},
    {"task.index", kCount, "", "", 0, "The position of this worker in the list of that kind, from 0."},
    {"devices", kDevices, "auto", "", 0, "Devices, one for each replica; in an elastic job, the GPUs that replicas share."},
    {"num_gpus", kCount, "", "", 0, "How many GPUs, instead of devices; 0 is one replica on the CPU."},
    {"num_gpus_per_worker", kCount, "", "", 0, "Another name of num_gpus."},
    {"executor", kChoice, "threads", "threads, caller", 0,
     "Who runs steps: a thread for each replica, or the calling thread for all."},
    {"cross_device_ops", kChoice, "auto", "auto, nccl, hierarchical_copy, one_device", 0,
     "Who reduces within a process: all devices together, or one of them."},
    {"reduce_to_device", kDevices, "", "", 0, "The device that reduces with one_device; the first, if not set."},
    {"communication.implementation", kChoice, "auto", "auto, ring, nccl, inproc, shm, tcp", 0,
     "What moves bytes between replicas and workers."},
    {"communication.timeout", kDuration, "600s", "", 0,
     "How long a call may wait for others without any progress of theirs."},
    {"communication.call_timeout", kDuration, "", "", 0, "How long a call may take, with progress or without; no limit, if not set."},
    {"communication.join_timeout", kDuration, "300s", "", 0, "How long the start may wait for all workers."},
    {"communication.heartbeat_timeout", kDuration, "10s", "", 0,
     "How long a worker may be silent before it counts as lost."},
    {"communication.ports", kPorts, "", "", 0, "Ports of which this worker takes one to listen at; any, if not set."},
    {"communication.interface", kText, "", "", 0, "Network interface at whose address this worker listens."},
    {"communication.listen", kEndpoint, "", "", 0, "Address at which this worker listens: of one interface, or 0.0.0.0."},
    {"communication.address", kEndpoint, "", "", 0, "Address that the others call, if it is not where this worker listens."},
    {"communication.bytes_per_pack", kBytes, "0", "", 0,
     "Size past which a reduction of many tensors begins another pack; 0: never."},
    {"communication.num_packs", kCount, "1", "", 0,
     "Number of packs for a reduction of many tensors; 0: one for each tensor."},
    {"communication.checksum", kChoice, "none", "none, crc32c", 0,
     "Checksum that detects bytes changed between hosts."},
    {"secret_file", kText, "", "", 0, "File with the secret that keeps strangers out of the job."},
    {"data.auto_shard_policy", kChoice, "auto", "auto, file, data, off, marked", 0,
     "How workers share the input, unless options of a dataset set it."},
    {"data.prefetch_on_device", kChoice, "false", "false, true", 0,
     "Whether the next element is made while the program works on this one."},
    {"data.order", kChoice, "tf", "tf, replica", 0,
     "Which replica gets which rows: as in TensorFlow, or the same in every layout."},
    {"elastic.replicas", kCount, "", "", 0, "Makes the job elastic: it keeps this many replicas, on any number of workers."},
    {"elastic.min_workers", kCount, "1", "", 0, "The fewest workers with which the job goes on."},
    {"elastic.max_workers", kCount, "", "", 0, "The most workers; if not set, as many as replicas."},
    {"elastic.wait", kDuration, "60s", "", 0, "How long the job waits for workers, before it starts or if too few are left."},
    {"elastic.copies", kCount, "1", "", 0, "How many other workers keep a copy of what belongs to one replica."},
    {"elastic.rewind_bytes", kBytes, "256MiB", "", 0,
     "How much input an iterator keeps for going back to the last commit; 0: none."},
    {"elastic.max_losses_per_commit", kCount, "3", "", 0,
     "How often the job may lose workers without a new commit before it gives up."},
    {"elastic.state", kText, "", "", 0, "Folder in which the store keeps its state, so that it can come back."},
    {"elastic.open", kChoice, "false", "false, true", 0,
     "Whether a job without a secret lets in workers after it has formed."},
    {"gpu.blocking", kChoice, "false", "false, true, 0, 1", 0,
     "Whether functions of a step on a GPU wait for their own work."},
    {"log.level", kChoice, "warn", "off, error, warn, info, debug", 0,
     "Which messages are written; if not set, MDIST_LOG decides."},
    {"log.wait_after", kDuration, "30s", "", 0, "How long a wait may last before the library logs a warning."},
};

constexpr auto kKeys = [] {
    auto keys = std::to_array(kTable);
    for (ConfigKey &key : keys) {
        char *end = std::copy_n("MDIST_", 6, key.environment);
        for (const char *c = key.name; *c != '\0'; ++c)
            *end++ = *c == '.' ? '_' : *c >= 'a' && *c <= 'z' ? static_cast<char>(*c - ('a' - 'A')) : *c;
    }
    return keys;
}();

// Read by other parts, by launchers, or when a binding is built.
constexpr const char *kReserved[] = {
    "MDIST_BOOTSTRAP", "MDIST_BUNDLE", "MDIST_BUNDLED", "MDIST_CONFIG", "MDIST_CUDA_MODULE", "MDIST_FAKE_GPU",
    "MDIST_INCLUDE_DIR", "MDIST_JOB_ID", "MDIST_LIBRARY", "MDIST_LIB_DIR", "MDIST_LOCAL_RANK", "MDIST_LOCAL_SIZE",
    "MDIST_LOG", "MDIST_NODES", "MDIST_NODE_RANK", "MDIST_RANK", "MDIST_RESTART", "MDIST_SIZE", "MDIST_STATIC",
    "MDIST_STORE", "MDIST_STORE_OWNER", "MDIST_UNEVEN_REPLICAS", "MDIST_WORKER_ID"};

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
    return nearest.empty() ? "`mdist keys` lists them" : text("did you mean ", nearest, "?");
}

std::string checked_addresses(const ConfigKey &key, std::string_view value) {
    std::string joined;
    std::set<std::string> seen;
    auto addresses = split_list(value);
    if (addresses.empty()) throw bad_value(text(key.name, " is empty; set it to host:port, or leave the key out"));
    if (addresses.size() > key.most)
        throw bad_value(text(key.name, " takes at most ", key.most, key.most == 1 ? " address" : " addresses", ", not ",
                             addresses.size()));
    for (const std::string &address : addresses) {
        check_address(address);
        if (!seen.insert(address).second) throw bad_value(text(key.name, " names ", in_quotes(address), " twice"));
        joined += text(joined.empty() ? "" : ",", address);
    }
    return joined;
}

std::string checked_choice(const ConfigKey &key, std::string_view value) {
    std::string word = lower_case(value);
    auto choices = split_list(key.choices);
    if (std::find(choices.begin(), choices.end(), word) != choices.end()) return word;
    throw bad_value(text(key.name, " is ", in_quotes(value), "; use one of ", key.choices));
}

std::string checked_devices(std::string_view value) {
    parse_devices(value);
    std::string joined;
    for (const std::string &device : split_list(value)) joined += text(joined.empty() ? "" : ",", device);
    return joined;
}

/// Runs a parser, and puts the name of the key in front of its failure's message.
template <typename Function>
void named(const ConfigKey &key, Function parse) {
    try {
        parse();
    } catch (const Failure &failure) {
        throw bad_value(text(key.name, ": ", failure.message()));
    }
}

} // namespace

const char *ConfigKey::kind() const {
    switch (type) {
        case KeyType::kChoice:
            return "choice";
        case KeyType::kDuration:
            return "duration";
        case KeyType::kBytes:
            return "size";
        case KeyType::kCount:
            return "count";
        case KeyType::kDevices:
            return "devices";
        case KeyType::kAddresses:
            return most == 1 ? "address" : "addresses";
        case KeyType::kPorts:
            return "ports";
        case KeyType::kEndpoint:
            return "endpoint";
        case KeyType::kText:
            break;
    }
    return "text";
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
    throw Failure(MDIST_ERR_CONFIG, text(in_quotes(name), " is not a configuration key; ", advice_for(name)))
        .reason("unknown_key");
}

std::string checked_value(const ConfigKey &key, std::string_view value) {
    std::string_view word = trimmed(value);
    switch (key.type) {
        case KeyType::kChoice:
            return checked_choice(key, word);
        case KeyType::kDuration:
            named(key, [&] { parse_duration_ns(word); });
            break;
        case KeyType::kBytes:
            named(key, [&] { parse_bytes(word); });
            break;
        case KeyType::kCount:
            named(key, [&] { parse_count(word); });
            break;
        case KeyType::kPorts:
            named(key, [&] { parse_ports(word); });
            break;
        case KeyType::kEndpoint:
            named(key, [&] { parse_endpoint(word); });
            break;
        case KeyType::kDevices:
            return checked_devices(word);
        case KeyType::kAddresses:
            return checked_addresses(key, word);
        case KeyType::kText:
            if (value.empty() || value.find('\0') != std::string_view::npos)
                throw bad_value(
                    text(key.name, " is ", in_quotes(value), "; use a text that is neither empty nor contains NUL"));
            return std::string(value);
    }
    return std::string(word);
}

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
#include "strategy/job/form.h"

#include "cluster/config.h"
#include "cluster/config_values.h"
#include "cluster/elastic_settings.h"
#include "cluster/run.h"
#include "cluster/secret_file.h"
#include "cluster/settle_store.h"
#include "comm/call/bad_message.h"
#include "comm/workers/workers.h"
#include "membership/elastic_membership.h"
#include "membership/protocol/secret.h"
#include "strategy/job/links.h"
#include "util/log.h"
#include "util/system_random.h"
#include "util/text.h"

#include <mdist/base.h>

#include <atomic>
#include <charconv>
#include <tuple>
#include <utility>
#include <vector>

#include <unistd.h>

namespace mdist {
namespace {

/// Whether workers may have different numbers of replicas. The layers below support it; for now only tests ask for it.
bool may_be_uneven() {
    return process_environment().get("MDIST_UNEVEN_REPLICAS").has_value();
}

/// What must be the same on all workers, line by line. Workers that differ here would compute different results or wait
/// forever.
std::string agreement_of(const Config &config, const std::string &replicas, mdist_device_kind_t kind) {
    std::string lines =
        text("libmdist = ", MDIST_VERSION, "\nreplicas on each worker = ", replicas,
             "\ndevices = ", kind == MDIST_DEVICE_GPU ? "gpu" : "cpu",
             "\nstrategy = ", config.text("strategy") == "in_graph" ? "in_graph" : "multi_worker", "\n");
    for (const char *key : {"communication.implementation", "cross_device_ops", "communication.checksum",
                            "communication.bytes_per_pack", "communication.num_packs", "data.auto_shard_policy",
                            "data.order", "elastic.replicas", "elastic.copies", "elastic.max_losses_per_commit"})
        lines += text(key, " = ", config.text(key), "\n");
    return lines;
}

Failure both(const Config &config, const char *kept, const char *spare) {
    return Failure(MDIST_ERR_CONFIG, text(kept, " is ", config.text(kept), " (", config.origin(kept), ") and ", spare,
                                          " is ", config.text(spare), " (", config.origin(spare), "); remove ", spare,
                                          ", since ", kept, " already says where to listen"))
        .reason("contradiction");
}

/// Where this worker listens. It may differ from worker to worker.
ListenAt listen_at_of(const Config &config) {
    ListenAt at;
    if (config.is_set("communication.ports"))
        std::tie(at.first_port, at.last_port) = parse_ports(config.text("communication.ports"));
    at.interface = config.text("communication.interface");
    if (config.is_set("communication.listen")) {
        if (!at.interface.empty()) throw both(config, "communication.listen", "communication.interface");
        uint16_t port = 0;
        std::tie(at.host, port) = parse_endpoint(config.text("communication.listen"));
        if (port != 0 && !at.any_port()) throw both(config, "communication.listen", "communication.ports");
        if (port != 0) at.first_port = at.last_port = port;
    }
    if (config.is_set("communication.address"))
        std::tie(at.told.host, at.told.port) = parse_endpoint(config.text("communication.address"));
    if (at.told.host == "0.0.0.0" || at.told.host == "::")
        throw Failure(MDIST_ERR_CONFIG, text("communication.address is ", at.told.host,
                                             ", which nobody can call; name "
                                             "the address by which the others reach this worker"))
            .reason("bad_value");
    return at;
}

/// For a job that doesn't form: variables of a batch system or a shell reach programs that are to train alone, too.
std::string size_advice(const Resolved &resolved) {
    if (resolved.size == 1 || resolved.source == "config" || resolved.source == "env") return "";
    return text(". The number of workers, ", resolved.size, ", comes from ", resolved.origin,
                ". If this process is to train alone, set MDIST_BOOTSTRAP to single");
}

MembershipOptions options_of(const Config &config, const Resolved &resolved, const std::string &replicas,
                             mdist_device_kind_t kind) {
    MembershipOptions options;
    options.rank = resolved.rank;
    options.size = resolved.size;
    options.store = resolved.store;
    options.serves_store = resolved.serves_store;
    options.job = resolved.job;
    options.restart = resolved.restart;
    options.secret = read_secret(config);
    if (options.secret.empty()) options.secret = resolved.secret;
    options.run = run_lines(config.is_from_environment() ? &process_environment() : nullptr);
    options.pid = static_cast<uint32_t>(getpid());
    options.started_as = resolved.size > 1 ? resolved.rank : MDIST_NONE;
    options.agreement = agreement_of(config, replicas, kind);
    options.names = resolved.names;
    options.join_timeout_ns = config.duration_ns("communication.join_timeout");
    options.heartbeat_timeout_ns = config.duration_ns("communication.heartbeat_timeout");
    options.listen_at = listen_at_of(config);
    return options;
}

/// Exchanges replica counts between workers if they may differ.
Spans spans_of(Membership &membership, uint32_t local_replicas, uint64_t timeout_ns) {
    if (!may_be_uneven()) return Spans::even(membership.size(), local_replicas);
    std::vector<uint32_t> counts;
    for (const std::string &told : membership.exchange(text(local_replicas), timeout_ns)) {
        uint32_t count = 0;
        const char *const end = told.data() + told.size();
        if (std::from_chars(told.data(), end, count).ptr != end || count == 0)
            throw bad_message(static_cast<uint32_t>(counts.size()), "bytes that are not a valid number of replicas");
        counts.push_back(count);
    }
    return Spans(counts);
}

/// Makes the job's secret on worker 0 if PMI can pass it to the others. Returns "" if no secret is wanted or possible.
std::string new_secret(const Config &config) {
    if (!secrets_are_built() || !config.text("secret_file").empty()) return "";
    Digest random;
    system_random(random.data(), random.size());
    std::string secret;
    for (const unsigned char byte : random) {
        secret += "0123456789abcdef"[byte >> 4];
        secret += "0123456789abcdef"[byte & 15];
    }
    return secret;
}

/// Warns once per process. It warns for a loopback address, too, since other users of this host can connect to it.
void warn_without_secret(const MembershipOptions &options, bool is_open) {
    static std::atomic<bool> warned{false};
    if (!options.secret.empty() || options.size == 1 || warned.exchange(true)) return;
    log_warn("this job has no secret. ", is_open ? "At any time" : "Until it has formed",
             ", anyone who can connect to ", options.store, " can join it, including other users of this host. ",
             secrets_are_built() ? "Write a secret with `mdist secret FILE`, and name that file on every worker "
                                   "(key secret_file, or MDIST_SECRET_FILE)"
                                 : "This build of libmdist cannot use one: build it with libsodium");
}

/// The id that the launcher has given this process, by which it tells the store that the process has ended. 0: none.
WorkerId worker_id_of(const Environment &environment) {
    const auto given = environment.get("MDIST_WORKER_ID");
    if (!given) return 0;
    WorkerId id = 0;
    const char *const end = given->data() + given->size();
    if (std::from_chars(given->data(), end, id).ptr != end || id == 0)
        throw Failure(MDIST_ERR_CONFIG, text("MDIST_WORKER_ID is \"", *given, "\"; it must be a number from 1"))
            .reason("bad_value");
    return id;
}

} // namespace

std::unique_ptr<ElasticMembership> join_elastic_job(const Config &config, Resolved resolved,
                                                    const ElasticSettings &settings, mdist_device_kind_t kind) {
    if (resolved.store.empty() || resolved.serves_store || resolved.store_by_pmi)
        throw Failure(
            MDIST_ERR_CONFIG,
            text("elastic.replicas is ", settings.replicas, " (", config.origin("elastic.replicas"),
                 "), but the job has no store outside of its workers. Start it with `mdist launch -n MIN:MAX`, or run "
                 "`mdist store` and set MDIST_STORE and MDIST_STORE_OWNER=launcher on all workers"))
            .reason("elastic_store");
    MembershipOptions options = options_of(config, resolved, text("any of ", settings.replicas), kind);
    warn_without_secret(options, settings.open);
    return std::make_unique<ElasticMembership>(std::move(options), worker_id_of(process_environment()));
}

std::unique_ptr<Workers> join_workers(const Config &config, Resolved resolved, uint32_t local_replicas,
                                      mdist_device_kind_t kind, const LinkSettings &settings) {
    settle_store(resolved, process_environment(), config.duration_ns("communication.join_timeout"), new_secret(config));
    const std::string replicas = may_be_uneven() ? "any" : text(local_replicas);
    MembershipOptions options = options_of(config, resolved, replicas, kind);
    options.size_advice = size_advice(resolved);
    warn_without_secret(options, false);
    auto membership = std::make_unique<Membership>(std::move(options));
    try {
        const Spans spans = spans_of(*membership, local_replicas, config.duration_ns("communication.join_timeout"));
        WorkerLinks links = make_links(*membership, settings, spans[membership->rank()].count(), spans);
        return std::make_unique<Workers>(std::move(membership), std::move(links), spans);
    } catch (const std::exception &caught) {
        if (membership) membership->fail(as_failure(caught)); // the others wait for this worker's links
        throw;
    }
}

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
#include "cluster/resolve.h"

#include "cluster/config_cluster.h"
#include "cluster/config_values.h"
#include "cluster/launcher.h"
#include "cluster/names.h"
#include "device/gpu/loader.h"
#include "util/failure.h"
#include "util/log.h"
#include "util/text.h"
#include "util/utf8.h"

namespace mdist {

namespace {

/// A source that says who this worker is.
struct Claim {
    std::string word; // "config" or a launcher's word
    std::string name; // its name in sentences
    Found found;

    std::string says() const {
        return text(name, " (", found.variables, ") says ",
                    found.is_evaluator() ? "evaluator" : text("rank ", found.rank, " of ", found.size));
    }
    bool agrees(const Claim &other) const {
        return found.rank == other.found.rank && found.size == other.found.size &&
               found.is_evaluator() == other.found.is_evaluator();
    }
};

/// The result of looking at all sources in order.
struct Survey {
    std::optional<Claim> taken;
    std::vector<std::string> passed_over;

    void pass(std::string_view word, std::string_view why) { passed_over.push_back(text(word, ": ", why)); }
};

void weigh(Survey &survey, Claim claim) {
    if (!survey.taken) {
        survey.taken = std::move(claim);
        return;
    }
    const Claim &taken = *survey.taken;
    if (taken.agrees(claim)) return survey.pass(claim.word, text(claim.says(), " as well, but has a lower priority"));
    // srun may have started other launchers. Then the step's ranks are theirs, not the workers'.
    if (claim.word == "slurm")
        return survey.pass(claim.word, text(claim.says(), ", but it counts only if it started the program itself"));
    throw Failure(MDIST_ERR_CONFIG,
                  text(taken.says(), ", but ", claim.says(), ". Unset the wrong one, or choose with MDIST_BOOTSTRAP",
                       taken.word == "config" ? "" : text('=', taken.word), " or ", claim.word))
        .reason("contradiction");
}

/// "auto", or the one source that MDIST_BOOTSTRAP asks for.
std::string bootstrap(const Config &config, const Environment &environment) {
    if (!config.is_from_environment()) return "auto";
    std::string word = lower_case(trimmed(environment.get("MDIST_BOOTSTRAP").value_or("auto")));
    std::string words = "auto";
    for (const Launcher &launcher : launchers()) {
        if (word == launcher.word) return word;
        words += text(", ", launcher.word);
    }
    if (word == "auto" || word == "single") return word;
    throw Failure(MDIST_ERR_CONFIG, text("MDIST_BOOTSTRAP is ", in_quotes(word), "; use ", words, " or single"))
        .reason("bad_value");
}

void look_at_launcher(Survey &survey, const Launcher &launcher, const Environment &environment, bool is_forced) {
    Sighting sighting;
    try {
        sighting = launcher.look(environment);
    } catch (const Failure &failure) {
        if (survey.taken) return survey.pass(launcher.word, failure.message());
        throw Failure(MDIST_ERR_CONFIG, text("cannot use ", launcher.name, ": ", failure.message()))
            .reason(failure.reason());
    }
    if (sighting.found) return weigh(survey, {launcher.word, launcher.name, std::move(*sighting.found)});
    if (is_forced)
        throw Failure(MDIST_ERR_CONFIG, text("MDIST_BOOTSTRAP asks for ", launcher.word, ", but ", sighting.absent))
            .reason("unusable");
    survey.pass(launcher.word, sighting.absent);
}

Survey look_around(const Config &config, const Environment &environment) {
    Survey survey;
    std::string only = bootstrap(config, environment);
    auto wants = [&](std::string_view word) { return only == "auto" || only == word; };
    std::string not_wanted = text("MDIST_BOOTSTRAP is ", only);

    if (!wants("env")) {
        survey.pass("config", not_wanted); // "env" does use the config's cluster, with MDIST_RANK
    } else if (Sighting sighting = look_config(config, environment); sighting.found) {
        survey.taken = {"config", "the config", std::move(*sighting.found)};
    } else {
        survey.pass("config", sighting.absent);
    }
    for (const Launcher &launcher : launchers()) {
        bool is_rank_alone = launcher.word == std::string_view("env") && survey.taken && !environment.get("MDIST_SIZE");
        if (!config.is_from_environment())
            survey.pass(launcher.word, "the config was not loaded from the environment");
        else if (!wants(launcher.word))
            survey.pass(launcher.word, not_wanted);
        else if (is_rank_alone)
            survey.pass(launcher.word, "MDIST_SIZE is not set");
        else
            look_at_launcher(survey, launcher, environment, only != "auto" && !survey.taken);
    }
    return survey;
}

/// Makes a cluster of workers without addresses, for a launcher that knows only ranks.
void complete_cluster(Found &found) {
    if (!found.cluster.empty()) return;
    if (found.size > kMostTasks)
        throw Failure(MDIST_ERR_CONFIG, text(found.variables, ": ", found.size, " workers are too many; at most ",
                                             kMostTasks, " are allowed"))
            .reason("unusable");
    for (std::uint32_t rank = 0; rank < found.size; ++rank) found.cluster.add({TaskType::kWorker, rank}, "");
    found.cluster.set_task(Task{TaskType::kWorker, found.rank});
}

std::vector<std::string> names_by_rank(const Cluster &cluster) {
    if (cluster.task()->type == TaskType::kEvaluator) return {task_text(*cluster.task())};
    std::vector<std::string> names;
    for (Task task : cluster.members()) {
        const std::string &address = cluster.address(task);
        std::string detail = task.type == TaskType::kChief ? "chief" : "";
        if (!address.empty()) detail += text(detail.empty() ? "" : ", ", address);
        names.push_back(text("worker ", names.size(), detail.empty() ? "" : text(" (", detail, ')')));
    }
    return names;
}

void check_store(const std::string &address) {
    try {
        check_address(address);
    } catch (const Failure &failure) {
        throw Failure(MDIST_ERR_CONFIG, text("MDIST_STORE: ", failure.message())).reason("bad_value");
    }
}

/// Chooses where the workers meet. MDIST_STORE and MDIST_STORE_OWNER take precedence, whichever source gives the ranks.
void choose_store(Resolved &resolved, const Claim &claim, bool reads_environment, const Environment &environment) {
    const Found &found = claim.found;
    Variables variables(environment);
    auto given = reads_environment ? variables.text("MDIST_STORE") : std::nullopt;
    std::string owner = reads_environment ? variables.text("MDIST_STORE_OWNER").value_or("") : "";
    if (!owner.empty() && owner != "launcher" && owner != "worker")
        throw Failure(MDIST_ERR_CONFIG, text("MDIST_STORE_OWNER is ", in_quotes(owner), "; use launcher or worker"))
            .reason("bad_value");
    bool is_first = resolved.rank == 0;
    if (given) {
        check_store(*given);
        resolved.store = *given;
        resolved.serves_store = is_first && owner != "launcher";
    } else if (!found.store.empty()) {
        resolved.store = is_first && !found.own_store.empty() ? found.own_store : found.store;
        resolved.serves_store = is_first;
    } else if (found.store_by_pmi) {
        resolved.store_by_pmi = true;
        resolved.serves_store = is_first;
    } else {
        throw Failure(MDIST_ERR_CONFIG, text("cannot use ", claim.name, " (", found.variables, "): ", found.no_store))
            .reason("unusable");
    }
}

Resolved resolved_of(Claim claim, bool reads_environment, const Environment &environment) {
    Found &found = claim.found;
    complete_cluster(found);
    Task task = *found.cluster.task();
    if (task.type == TaskType::kPs)
        throw Failure(MDIST_ERR_CONFIG, text(found.variables, ": the task is ", task_text(task),
                                             "; parameter servers take no part in this strategy, so run nothing here"))
            .reason("parameter_server");
    Resolved resolved;
    resolved.kind = found.is_evaluator() ? Resolved::Kind::kEvaluator : Resolved::Kind::kMember;
    resolved.source = claim.word;
    resolved.origin = found.variables;
    resolved.rank = found.is_evaluator() ? 0 : found.rank;
    resolved.size = found.is_evaluator() ? 1 : found.size;
    resolved.local_rank = found.local_rank;
    resolved.local_size = found.local_size;
    resolved.task = task;
    resolved.names = names_by_rank(found.cluster);
    Variables variables(environment);
    auto job = reads_environment ? variables.text("MDIST_JOB_ID") : std::nullopt;
    auto restart = reads_environment ? variables.count("MDIST_RESTART") : std::nullopt;
    resolved.job = job.value_or(found.job);
    resolved.restart = restart.value_or(found.restart);
    if (resolved.size > 1) choose_store(resolved, claim, reads_environment, environment);
    resolved.cluster = std::move(found.cluster);
    return resolved;
}

/// Refuses settings that would have no effect.
void refuse_unbuilt(const Config &config) {
    auto refuse = [&](std::string_view key, std::string_view built) {
        throw Failure(MDIST_ERR_UNSUPPORTED,
                      text(config.origin(key), ": ", key, " = ", in_quotes(config.text(key)),
                           " works only with GPUs, but these devices are CPUs. For CPUs use ", built))
            .reason("not_built");
    };
    const auto on_gpus = [&config] {
        const bool open = lower_case(config.text("devices")) == "auto" && !config.is_set("num_gpus") &&
                          !config.is_set("num_gpus_per_worker");
        return open ? gpu_support().count != 0 : config.devices()[0].kind == DeviceKind::kGpu;
    };
    if (config.text("communication.implementation") == "nccl" && !on_gpus())
        refuse("communication.implementation", "auto, ring, inproc, shm, tcp");
    if (config.text("cross_device_ops") == "nccl" && !on_gpus())
        refuse("cross_device_ops", "auto, hierarchical_copy, one_device");
}

/// A worker of an elastic job needs no rank: the store gives it one, and may give it another one later. So workers that
/// no launcher has numbered can join, too.
void choose_elastic_store(Resolved &resolved, const Config &config, const Environment &environment) {
    if (config.count("elastic.replicas") == 0 || !config.is_from_environment() || !resolved.store.empty()) return;
    Variables variables(environment);
    const auto given = variables.text("MDIST_STORE");
    if (!given || variables.text("MDIST_STORE_OWNER").value_or("") != "launcher") return;
    check_store(*given);
    resolved.store = *given;
    resolved.store_by_pmi = false;
    resolved.serves_store = false;
    resolved.job = variables.text("MDIST_JOB_ID").value_or(resolved.job);
}

/// Looks for workers that a launcher has started, and that the config doesn't know of since it was not loaded from the
/// environment: each would train alone. The variables of `mdist launch` are meant for this library, so they are an
/// error.
void look_for_unread(const Environment &environment) {
    if (lower_case(trimmed(environment.get("MDIST_BOOTSTRAP").value_or(""))) == "single") return;
    for (const Launcher &launcher : launchers()) {
        Sighting sighting;
        try {
            sighting = launcher.look(environment);
        } catch (const Failure &) {
            continue; // variables that say nothing whole
        }
        if (!sighting.found || sighting.found->size < 2) continue;
        const std::string unread = text(
            sighting.found->variables, " say that there are ", sighting.found->size,
            " workers, but the config was not loaded from the environment. Call mdist_config_load_environment first. "
            "If this process is to train alone, set strategy to mirrored, or MDIST_BOOTSTRAP to single");
        if (launcher.word == std::string_view("env")) throw Failure(MDIST_ERR_CONFIG, unread).reason("unread");
        log_warn(unread);
        return;
    }
}

Resolved local(std::vector<std::string> passed_over) {
    Resolved resolved;
    resolved.names = {"worker 0"};
    resolved.passed_over = std::move(passed_over);
    return resolved;
}

} // namespace

Resolved resolve(const Config &config, const Environment &environment) {
    refuse_unbuilt(config);
    if (config.text("strategy") == "mirrored") {
        if (config.is_from_environment() && environment.get("TF_CONFIG"))
            log_info("TF_CONFIG is ignored: strategy is mirrored, which trains in this process alone");
        return local(
            {text("all: strategy is mirrored (", config.origin("strategy"), "), which trains in this process alone")});
    }
    Survey survey = look_around(config, environment);
    if (!survey.taken && !config.is_from_environment()) look_for_unread(environment);
    Resolved resolved =
        survey.taken ? resolved_of(std::move(*survey.taken), config.is_from_environment(), environment) : local({});
    resolved.passed_over = std::move(survey.passed_over);
    choose_elastic_store(resolved, config, environment);
    return resolved;
}

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
#include "check/check.h"

#include "check/cluster_view.h"
#include "check/join.h"
#include "check/report.h"
#include "launch/secret.h"
#include "network.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <sys/stat.h>

namespace mdist {
namespace {

std::string variable(const char *name) {
    const char *value = std::getenv(name);
    return value != nullptr ? value : "";
}

std::string value_of(const mdist_config_t *config, const char *key) {
    char text[4096] = "";
    mdist_error_t *error = nullptr;
    require_ok(mdist_config_get(config, key, text, sizeof text, nullptr, &error), error);
    return text;
}

class Check {
  public:
    explicit Check(const CheckOptions &options)
        : file_(options.config), timeout_ms_(static_cast<int>(options.timeout_s * 1000)), join_(options.join) {}

    unsigned run() {
        check_version();
        const ConfigHandle config = load_config();
        if (!config) return report_.problems();
        check_secret(value_of(config.get(), "secret_file"));
        try {
            const ClusterView view = view_cluster(config.get());
            tell(view);
            for (const Task &task : view.tasks)
                if (!task.address.empty()) check_task(task);
            check_store(view);
            if (join_) check_join(config.get(), report_);
        } catch (const std::runtime_error &failure) {
            report_.problem("cluster", failure.what(), "a strategy would fail in the same way");
        }
        return report_.problems();
    }

  private:
    void check_version();
    ConfigHandle load_config();
    void check_secret(const std::string &path);
    void tell(const ClusterView &view);
    void check_task(const Task &task);
    void check_own(const Task &task, const std::vector<Endpoint> &endpoints);
    void check_other(const Task &task, const std::vector<Endpoint> &endpoints);
    void check_store(const ClusterView &view);

    std::string file_; // named by --config
    int timeout_ms_;
    bool join_;
    CheckReport report_;
};

void Check::check_version() {
    const uint32_t built = MDIST_VERSION;
    const uint32_t found = mdist_version();
    const auto text = [](uint32_t version) {
        return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
               std::to_string(version % 100);
    };
    if (built / 100 == found / 100) {
        report_.ok("version", "libmdist " + text(found) + "; all workers need the same");
    } else {
        report_.problem("version", "this is mdist " + text(built) + ", but the loader found libmdist " + text(found),
                        "check LD_LIBRARY_PATH, and install both from one build");
    }
}

/// Returns null if later checks would be useless.
ConfigHandle Check::load_config() {
    const std::string file = file_.empty() ? variable("MDIST_CONFIG") : file_;
    ConfigHandle config = make_config();
    mdist_error_t *error = nullptr;
    mdist_status_t status = file_.empty() ? MDIST_OK : mdist_config_load(config.get(), file_.c_str(), &error);
    if (!file_.empty()) unsetenv("MDIST_CONFIG"); // the file named by --config replaces it
    if (status >= 0) status = mdist_config_load_environment(config.get(), &error);
    if (status < 0) {
        report_.problem("config", sentence_of(status, error), "a strategy would fail in the same way");
        return nullptr;
    }
    report_.ok("config", file.empty() ? "no file; the settings come from the environment" : file);
    return config;
}

void Check::check_secret(const std::string &path) {
    if (path.empty()) return;
    struct stat found {};
    if (stat(path.c_str(), &found) != 0) {
        report_.problem("secret", path + ": " + std::strerror(errno),
                        "every worker needs this file, with the same content");
        return;
    }
    if ((found.st_mode & 077) != 0)
        return report_.problem("secret", path + " can be read by others", "chmod 600 " + path);
    try {
        read_secret(path);
        report_.ok("secret", path);
    } catch (const std::runtime_error &unusable) {
        report_.problem("secret", unusable.what(), "every worker needs the same one");
    }
}

void Check::tell(const ClusterView &view) {
    report_.ok("cluster", view.explanation.substr(0, view.explanation.find('\n')));
    if (view.own.empty() && !view.tasks.empty())
        report_.problem("task", "neither the configuration nor the environment says which task this is",
                        "set MDIST_TASK_TYPE and MDIST_TASK_INDEX, or MDIST_RANK");
}

void Check::check_task(const Task &task) {
    std::vector<Endpoint> endpoints;
    try {
        endpoints = resolve(split_address(task.address));
    } catch (const std::runtime_error &unknown) {
        report_.problem(task.name, unknown.what(), "correct the name, or add it to DNS or /etc/hosts");
        return;
    }
    if (task.own) {
        check_own(task, endpoints);
    } else {
        check_other(task, endpoints);
    }
}

void Check::check_own(const Task &task, const std::vector<Endpoint> &endpoints) {
    const Endpoint *own = nullptr;
    for (const Endpoint &endpoint : endpoints)
        if (own == nullptr && is_own(endpoint)) own = &endpoint;
    if (own == nullptr) {
        report_.problem(task.name,
                        task.address + " (" + endpoints[0].host_text() + ") is not an address of this machine",
                        "correct the task or the address; `ip address` lists this machine's addresses");
        return;
    }
    if (!task.leader) { // it listens at a port that the kernel chooses
        report_.ok(task.name, task.address + " is this machine's");
        return;
    }
    const int problem = problem_serving(*own);
    if (problem == 0) {
        report_.ok(task.name, task.address + " is this machine's, and its port is free");
    } else if (problem == EADDRINUSE) {
        report_.problem(task.name, task.address + ": another process is already listening there",
                        "is the job running? `ss -ltnp` names the process");
    } else {
        report_.problem(task.name, task.address + ": " + std::strerror(problem), "choose another port");
    }
}

void Check::check_other(const Task &task, const std::vector<Endpoint> &endpoints) {
    int problem = 0;
    for (const Endpoint &endpoint : endpoints) {
        problem = problem_connecting(endpoint, timeout_ms_);
        if (!task.leader && (problem == 0 || problem == ECONNREFUSED)) {
            report_.ok(task.name, task.address + ": the host answers");
            return;
        }
        if (problem == 0) {
            report_.ok(task.name, task.address + " answers");
            return;
        }
        if (problem == ECONNREFUSED) {
            report_.ok(task.name, task.address + ": the host answers; nothing listens at the port yet");
            return;
        }
    }
    report_.problem(task.name, task.address + ": " + std::strerror(problem),
                    task.leader ? "is the host up, and does a firewall let this port through?"
                                : "is the host up, and does a firewall let the job's ports through?");
}

/// Checks MDIST_STORE, the address where workers meet. Either its server runs already, or rank 0 will serve it.
void Check::check_store(const ClusterView &view) {
    const std::string store = variable("MDIST_STORE");
    if (store.empty()) return;
    if (variable("MDIST_STORE_OWNER") != "launcher") {
        const bool serves =
            std::any_of(view.tasks.begin(), view.tasks.end(), [](const Task &task) { return task.own && task.leader; });
        check_task({"store", store, serves, true});
        return;
    }
    int problem = 0;
    for (const Endpoint &endpoint : resolve(split_address(store)))
        if ((problem = problem_connecting(endpoint, timeout_ms_)) == 0) break;
    if (problem == 0) {
        report_.ok("store", store + " answers");
    } else {
        report_.problem("store", store + ": " + std::strerror(problem),
                        "is the launcher still there, and does a firewall let this port through?");
    }
}

} // namespace

int run_check(const CheckOptions &options) {
    return Check(options).run() == 0 ? 0 : 1;
}

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
#include "store/serve.h"

#include <CLI/CLI.hpp>

namespace mdist {
namespace {

constexpr const char *kStoreFooter = R"(
Workers meet at a store when a job forms. `mdist launch` serves one itself, and without a launcher rank 0 does. A store
that runs by itself outlives all of them: the job may lose and restart any worker, rank 0 too.

The first lines of stdout are the variables that the workers need, as NAME=VALUE. stderr says who has joined. INT,
TERM, HUP and QUIT end the store with status 0. A job that has formed goes on without it.

With -n MIN:MAX the store serves one elastic job, and decides which workers make it up. It needs the key
elastic.replicas, so set MDIST_ELASTIC_REPLICAS for it. Workers then need no rank. The store ends with the job: with
status 0 when all workers have ended, with 1 if the job has failed for good. Keep it alive for as long. With --state it
may be killed in between: start it again with the same command, and the job goes on.
A signal then ends it with 128 and the number of the signal.

Give the store an address that all workers can reach. Give it and all workers the same secret, which `mdist secret`
writes.

Examples:

    mdist secret job.secret
    mdist store 10.0.0.1:4400 -n 4 --job run7 --secret-file job.secret
    MDIST_STORE=10.0.0.1:4400 MDIST_STORE_OWNER=launcher MDIST_JOB_ID=run7 \
        MDIST_SECRET_FILE=job.secret MDIST_RANK=0 MDIST_SIZE=4 ./train
    MDIST_ELASTIC_REPLICAS=8 mdist store 10.0.0.1:4400 -n 2:4 --job run8 \
        --secret-file job.secret --state /var/lib/run8
)";

} // namespace

void add_serve_options(CLI::App &store, ServeOptions &options) {
    store.add_option("address", options.address, "serve at this address; port 0 takes a free port")
        ->type_name("HOST:PORT")
        ->group("Arguments")
        ->required();
    store.add_option("-n,--workers", options.workers, "the job has N workers; MIN:MAX: an elastic job of up to MAX")
        ->type_name("N")
        ->required();
    store.add_option("--job", options.job, "name of the job; workers of others are refused (default: MDIST_JOB_ID)")
        ->type_name("ID");
    CLI::Option *secret = store.add_option("--secret-file", options.secret_file,
                                           "workers prove that they know it (default: MDIST_SECRET_FILE)");
    secret->type_name("FILE");
    store
        .add_option("--state", options.state,
                    "keep what the store of an elastic job knows in this folder, so that it can "
                    "be killed and started again")
        ->type_name("FOLDER");
    store.add_flag("--no-secret", options.no_secret, "let anybody join while the job forms")->excludes(secret);
    store.footer(kStoreFooter);
}

} // namespace mdist

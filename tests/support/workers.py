# SPDX-License-Identifier: Apache-2.0
"""Starts the processes of a job that a test runs beside itself, here or on hosts of hosts.sh."""
import subprocess

from environment import environment


def start(*words, host=None, errors=subprocess.STDOUT, before=None, **variables):
    """Starts a program here, or on a host. Its output is piped, with its errors in it unless they get a pipe of their
    own. Its input is empty. `before` runs in the new process first."""
    place = [] if host is None else ["on_host", str(host)]
    return subprocess.Popen([*place, *words], env=environment(**variables), stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=errors, text=True, preexec_fn=before)


def start_job(hosts, *words, store, **variables):
    """Starts a worker on each of these hosts, in the order of ranks; rank 0 serves the store. Errors are piped apart."""
    return [start(*words, host=host, errors=subprocess.PIPE, MDIST_RANK=str(rank), MDIST_SIZE=str(len(hosts)),
                  MDIST_STORE=store, MDIST_DEVICES="cpu*1", **variables) for rank, host in enumerate(hosts)]


def elastic_place(rank, size, store, job):
    """The variables of a worker of an elastic job whose store runs by itself."""
    return {"MDIST_BOOTSTRAP": "env", "MDIST_STORE": store, "MDIST_STORE_OWNER": "launcher", "MDIST_JOB_ID": job,
            "MDIST_RANK": str(rank), "MDIST_SIZE": str(size), "MDIST_WORKER_ID": str(1000 + rank)}

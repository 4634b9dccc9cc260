#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of launchers in docs/reference/clusters.md, row by row: what their variables, set by hand, lead to in
jobs of real processes; what tells two runs at one address apart; and what happens if a config does not read them. Usage:
launcher_variables_test.py MDIST LIBRARY"""
import itertools
import json
import re
import subprocess
import sys

from launch_support import MDIST, PATIENCE_S, Case, environment, run_all
from time_limits import LONG_ENOUGH_S, in_time

LIBRARY = sys.argv[2]
HERE = "127.0.0.83"  # nobody else uses it, so its ports are free
PORTS = itertools.count(21000)
# Makes a strategy from a config that was not loaded from the environment.
ALONE = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
for name in ("mdist_error_message", "mdist_error_reason"): getattr(library, name).restype = ctypes.c_char_p
config, strategy, error = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
assert library.mdist_config_create(ctypes.byref(config), ctypes.byref(error)) == 0
status = library.mdist_strategy_create(config, ctypes.byref(strategy), ctypes.byref(error))
print(status, (library.mdist_error_reason(error) or b"").decode())
"""


def address():
    return HERE, str(next(PORTS))


def by_hand(rank, size, at, run):
    job = {"MDIST_JOB_ID": run} if run else {}
    return {"MDIST_RANK": rank, "MDIST_SIZE": size, "MDIST_STORE": ":".join(at), **job}


def tf_config(rank, size, at, run):
    workers = [":".join(at)] + [f"{HERE}:{i}" for i in range(1, int(size))]
    return {"TF_CONFIG": json.dumps({"cluster": {"worker": workers}, "task": {"type": "worker", "index": int(rank)}})}


def torch(rank, size, at, run):
    return {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": size, "MASTER_ADDR": at[0],
            "MASTER_PORT": at[1], "TORCHELASTIC_RUN_ID": run or "none"}


def kubeflow(rank, size, at, run):
    return {"RANK": rank, "WORLD_SIZE": size, "MASTER_ADDR": at[0], "MASTER_PORT": at[1],
            "KUBERNETES_PORT": "tcp://10.0.0.1:443",
            "MDIST_STORE": ":".join(at)}  # else rank 0 listens at its pod's address


def trainer(rank, size, at, run):
    return {"PET_NODE_RANK": rank, "PET_NNODES": size, "PET_NPROC_PER_NODE": "1", "PET_MASTER_ADDR": at[0],
            "PET_MASTER_PORT": at[1], "KUBERNETES_PORT": "tcp://10.0.0.1:443", "MDIST_STORE": ":".join(at)}


def horovod(rank, size, at, run):
    return {"HOROVOD_RANK": rank, "HOROVOD_SIZE": size, "HOROVOD_LOCAL_RANK": rank, "HOROVOD_LOCAL_SIZE": size,
            "HOROVOD_GLOO_RENDEZVOUS_PORT": run or "41000", "MDIST_STORE": ":".join(at)}


def pmi(rank, size, at, run):
    return {"PMI_RANK": rank, "PMI_SIZE": size, "MPI_LOCALRANKID": rank, "MPI_LOCALNRANKS": size,
            "MDIST_STORE": ":".join(at)}


def openmpi(rank, size, at, run):
    return {"OMPI_COMM_WORLD_RANK": rank, "OMPI_COMM_WORLD_SIZE": size, "OMPI_COMM_WORLD_LOCAL_RANK": rank,
            "OMPI_COMM_WORLD_LOCAL_SIZE": size, "PMIX_NAMESPACE": run or "prterun-1", "MDIST_STORE": ":".join(at)}


def slurm(rank, size, at, run):
    return {"SLURM_PROCID": rank, "SLURM_STEP_NUM_TASKS": size, "SLURM_LOCALID": rank, "SLURM_NODEID": "0",
            "SLURM_STEP_TASKS_PER_NODE": size, "SLURM_STEP_NODELIST": "localhost", "SLURM_JOB_ID": run or "17",
            "SLURM_STEP_ID": "0", "MDIST_STORE": ":".join(at)}


def in_slurm(rank, size, at, run):
    """torchrun's variables by hand, as in many batch scripts, with its default port."""
    return {**torch(rank, size, at, None), "SLURM_JOB_ID": run or "17"}


def in_pbs(rank, size, at, run):
    return {**torch(rank, size, at, None), "PBS_JOBID": f"{run or 17}[{rank}].server"}  # a job array


# Word of the source, its variables, and the reason with which another run is refused; None: nothing tells it apart.
ROWS = {
    "by hand": ("env", by_hand, "different_job"),
    "TF_CONFIG": ("tf_config", tf_config, None),
    "torchrun": ("torch", torch, "different_job"),
    "Kubeflow": ("kubeflow", kubeflow, None),
    "Kubeflow's Trainer": ("kubeflow", trainer, None),
    "horovodrun": ("horovod", horovod, "different_run"),
    "Hydra": ("pmi", pmi, None),
    "Open MPI": ("openmpi", openmpi, "different_job"),
    "srun": ("slurm", slurm, "different_job"),
    "torchrun's variables in Slurm": ("torch", in_slurm, "different_run"),
    "torchrun's variables in PBS": ("torch", in_pbs, "different_run"),
}
OWN = ("MDIST_", "TF_CONFIG", "OMPI_", "PMI", "PMIX_", "SLURM_", "PBS_", "LSB_", "HOROVOD_", "PET_", "RANK",
       "WORLD_SIZE", "LOCAL_", "GROUP_RANK", "MASTER_", "TORCHELASTIC_", "KUBERNETES_")


def kept():
    """This environment without any launcher's variables."""
    return {name: value for name, value in environment().items() if not name.startswith(OWN)}


class Joining:
    """A process that joins the job that its variables name, and leaves it."""

    def __init__(self, variables, limit_s=2 * LONG_ENOUGH_S):
        own = {**kept(), **variables, "MDIST_COMMUNICATION_JOIN_TIMEOUT": f"{limit_s}s"}
        self.process = subprocess.Popen([MDIST, "check", "--join"], env=own, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def end(self):
        said = self.process.communicate(timeout=PATIENCE_S)[0]
        return self.process.returncode, said


class LauncherVariables(Case):
    def assert_joined(self, worker, word, rank, size):
        code, said = worker.end()
        self.assertEqual(code, 0, said)
        self.assertRegex(said, rf"ok +cluster .*rank {rank} of {size}, by {word} ")
        self.assertRegex(said, rf"ok +join +{size} workers")

    def test_each_row_leads_to_a_job(self):
        for name, (word, variables, _) in ROWS.items():
            with self.subTest(name):
                at = address()
                workers = [Joining(variables(str(rank), "2", at, None)) for rank in range(2)]
                for rank, worker in enumerate(workers):
                    self.assert_joined(worker, word, rank, 2)

    def test_a_worker_of_another_run_is_refused_where_something_tells_it_apart(self):
        for name, (word, variables, reason) in ROWS.items():
            if reason is None:
                continue
            with self.subTest(name):
                at = address()
                first = Joining(variables("0", "2", at, "71"))
                code, said = Joining(variables("1", "2", at, "72")).end()  # comes while the first run forms
                self.assertEqual(code, 1, said)
                self.assertRegex(said, "MDIST_JOB_ID|address of its own store")
                if reason == "different_run":
                    self.assertIn("71", said)
                    self.assertIn("72", said)
                    self.assertRegex(said, rf"pid {first.process.pid}\b")
                self.assert_joined(Joining(variables("1", "2", at, "71")), word, 1, 2)
                self.assert_joined(first, word, 0, 2)

    def test_one_job_name_joins_what_has_different_allocations(self):
        at = address()
        workers = [Joining({**in_slurm(str(rank), "2", at, str(71 + rank)), "MDIST_JOB_ID": "both"})
                   for rank in range(2)]
        for rank, worker in enumerate(workers):
            self.assert_joined(worker, "torch", rank, 2)

    def test_where_nothing_tells_runs_apart_the_second_of_a_rank_names_both(self):
        for name, (word, variables, reason) in ROWS.items():
            if reason is not None:
                continue
            with self.subTest(name):
                at = address()
                chief = Joining(variables("0", "3", at, None))
                twins = [Joining(variables("1", "3", at, None)) for _ in range(2)]  # one each of two runs
                for twin in twins * 1000:
                    if twin.process.poll() is not None:
                        break
                    try:
                        twin.process.wait(0.1)
                    except subprocess.TimeoutExpired:
                        continue
                code, said = twin.end()
                self.assertEqual(code, 1, said)
                for one in twins:
                    self.assertRegex(said, rf"pid {one.process.pid}\b")
                twins.remove(twin)
                last = Joining(variables("2", "3", at, None))
                for rank, worker in enumerate([chief, twins[0], last]):
                    code, heard = worker.end()
                    self.assertEqual(code, 0, heard)
                    if rank == 0:  # serves the store
                        self.assertRegex(heard, rf"refused a worker: .*pid {twin.process.pid}\b")

    @in_time(1)
    def test_a_job_that_does_not_form_says_where_its_number_of_workers_comes_from(self, limit_s):
        for name, (word, variables, _) in ROWS.items():
            with self.subTest(name):
                own = {**variables("0", "2", address(), None), "MDIST_LOG_WAIT_AFTER": "10ms"}
                said = Joining(own, limit_s).end()[1]
                lines = re.findall(r"The number of workers, 2, comes from (.*)\. If this process is to train alone, set "
                                   "MDIST_BOOTSTRAP to single", said)
                if word == "env":  # set by who starts this very program
                    self.assertEqual(lines, [], said)
                    continue
                self.assertTrue(all(line in own for line in lines[0].split(", ")), said)
                self.assertRegex(said, r"has waited .*The number of workers")
                self.assertRegex(said, rf"not all workers joined within {limit_s} s.*The number of workers")
                code, said = Joining({**own, "MDIST_BOOTSTRAP": "single"}).end()
                self.assertEqual(code, 0, said)

    def test_a_config_that_does_not_read_them_is_told(self):
        for name, (word, variables, _) in ROWS.items():
            with self.subTest(name):
                own = variables("1", "2", address(), None)
                own.pop("MDIST_STORE", None)
                if name == "by hand":
                    own["MDIST_STORE"] = f"{HERE}:1"

                def alone(**more):
                    return subprocess.run([sys.executable, "-c", ALONE, LIBRARY], env={**kept(), **own, **more},
                                          text=True, capture_output=True, timeout=PATIENCE_S)
                result = alone()
                if word == "env":  # meant for this library alone
                    self.assertRegex(result.stdout, r"^-\d+ unread\n", result.stderr)
                else:
                    self.assertEqual(result.stdout, "0 \n", result.stderr)
                    self.assertIn("the config was not loaded from the environment", result.stderr)
                result = alone(MDIST_BOOTSTRAP="single")
                self.assertEqual((result.stdout, result.stderr), ("0 \n", ""))


if __name__ == "__main__":
    run_all(__name__)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`mdist store -n MIN:MAX` serves an elastic job whose workers were started by hand, or by several launchers. Usage:
elastic_store_test.py MDIST PROGRAM, where PROGRAM is the test multi_elastic, whose training it runs."""
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time

from launch_support import MDIST, PATIENCE_S, Case, environment, hear_all, run_all
from time_limits import LONG_ENOUGH_S, Late, await_that, in_time
from workers import start

WORKER = sys.argv[2]
SETTINGS = {"MDIST_ELASTIC_REPLICAS": "8", "MDIST_ELASTIC_OPEN": "true", "TEST_STEPS": "2000", "TEST_PID": "1"}
LATE = re.compile(r"ABORTED|DATA_LOSS|TIMEOUT|PEER_LOST")  # what a worker says that was missed, or that misses others


def free_address(host):
    with socket.create_server((host, 0)) as free:
        return f"{host}:{free.getsockname()[1]}"


class Process:
    """A program whose lines are collected while it runs."""

    def __init__(self, *words, **variables):
        self.process = start(*words, before=hear_all, **{**SETTINGS, **variables})
        self.lines, self.news, self.over = [], threading.Condition(), False
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with self.news:
                self.lines.append(line)
                self.news.notify_all()
        with self.news:
            self.over = True
            self.news.notify_all()

    def await_lines(self, pattern, count=1):
        """What the first group of the pattern matched, in so many lines."""
        end = time.monotonic() + PATIENCE_S
        with self.news:
            while True:
                found = [match[1] for line in self.lines if (match := re.search(pattern, line))]
                if len(found) >= count:
                    return found
                if self.over and LATE.search("".join(self.lines)):
                    raise Late(f"no {count} lines with {pattern}: {self.lines}")
                assert not self.over and time.monotonic() < end, f"no {count} lines with {pattern}: {self.lines}"
                self.news.wait(1)

    def kill(self):
        self.process.kill()
        return self.end()

    def end(self):
        code = self.process.wait(PATIENCE_S)
        self.reader.join()
        return code


class ElasticStore(Case):
    def setUp(self):
        super().setUp()
        self.processes = []
        self.addCleanup(lambda: [each.kill() for each in self.processes])

    def begin(self, limit_s):
        """For another try. Nobody tells the store who has ended, so it waits for a silence of so long."""
        for each in self.processes:
            each.kill()
        self.gate = self.folder / f"gate-{limit_s}"
        self.silence = {"MDIST_COMMUNICATION_HEARTBEAT_TIMEOUT": f"{limit_s}s"}

    def run_beside(self, *words, **variables):
        self.processes.append(Process(*words, **self.silence, **variables))
        return self.processes[-1]

    def store(self, size, *more, address="127.0.0.1:0", **variables):
        """A store, and the variables that it prints for the workers."""
        store = self.run_beside(MDIST, "store", address, "-n", size,
                                *(more or ["--job", "by-hand", "--no-secret"]), **variables)
        store.await_lines(r"(MDIST_ELASTIC_MAX_WORKERS)")
        said = dict(line.strip().split("=", 1) for line in store.lines if line.startswith("MDIST_"))
        self.assertEqual(said["MDIST_ELASTIC_REPLICAS"], "8")
        return store, said

    def worker(self, variables, **more):
        return self.run_beside(WORKER, "worker", TEST_GATE=str(self.gate), **variables, **more)

    def results(self, workers):
        self.gate.touch()
        for worker in workers:
            if worker.end() != 0 and LATE.search("".join(worker.lines)):
                raise Late(worker.lines)
            self.assertEqual(worker.end(), 0, worker.lines)
        return {worker.await_lines(r"result ([0-9a-f]{16})")[0] for worker in workers}

    def undisturbed(self):
        code = (job := Process(MDIST, "launch", "-n", "1:2", "--", WORKER, "worker")).end()
        self.assertEqual(code, 0, job.lines)
        return {job.await_lines(r"result ([0-9a-f]{16})")[0]}

    @in_time(3)
    def test_workers_without_ranks_are_killed_and_come(self, limit_s):
        self.begin(limit_s)
        store, variables = self.store("2:3")
        workers = [self.worker(variables) for _ in range(3)]
        for worker in workers:
            worker.await_lines("(begun)")
        workers.pop(1).kill()
        newcomer = self.worker(variables)
        newcomer.await_lines("(begun)")
        workers[0].kill()
        self.assertEqual(self.results([newcomer, workers[1]]), self.undisturbed())
        store.await_lines(r"(all workers of generation \d+ of the job have ended)")
        self.assertEqual(store.end(), 0)

    def store_at(self, address, *more, **variables):
        """A store that keeps its state, and the variables that it prints."""
        return self.store("2:3", "--job", "back", "--no-secret", "--state", str(self.folder / "state"), *more,
                          address=address, MDIST_LOG="info", **variables)

    @in_time(3)
    def test_a_store_that_is_killed_comes_back(self, limit_s):
        """Killed as workers are lost, ask, get a generation and are connected. MDIST_TEST_COUNT=n does all that n times."""
        self.begin(limit_s)
        address = free_address("127.0.0.82")
        store, variables = self.store_at(address)
        variables["MDIST_ELASTIC_MAX_LOSSES_PER_COMMIT"] = "1000"
        workers = [self.worker(variables) for _ in range(3)]
        for worker in workers:
            worker.await_lines("(begun)")
        moments = (None, "(asks for the next one)", r"(generation \d+ has)", r"(workers of generation \d+ are connected)")
        for moment in moments * int(os.environ.get("MDIST_TEST_COUNT", "1")):
            workers.pop(0).kill()
            if moment:
                store.await_lines(moment)
            store.kill()
            store, _ = self.store_at(address)
            workers.append(self.worker(variables))
            workers[-1].await_lines("(begun)")
        self.assertEqual(self.results(workers), self.undisturbed())
        self.assertEqual(store.end(), 0)  # it ends with its job
        self.assertEqual(list((self.folder / "state").iterdir()), [])

    @in_time(3)
    def test_while_the_state_cannot_be_kept_no_generation_begins(self, limit_s):
        self.begin(limit_s)
        store, variables = self.store_at(free_address("127.0.0.83"))
        resource.prlimit(store.process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))  # as a full disk
        workers = [self.worker(variables) for _ in range(3)]
        store.await_lines("(its state could not be kept, so no generation begins until it can: .*File too large)")
        self.assertNotIn("begun", "".join(line for worker in workers for line in worker.lines))
        resource.prlimit(store.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        for worker in workers:
            worker.await_lines("(begun)")
        self.assertEqual(self.results(workers), self.undisturbed())

    def test_it_says_what_is_wrong_with_a_state(self):
        self.begin(LONG_ENOUGH_S)
        address, folder = free_address("127.0.0.84"), self.folder / "state"

        def refused(*words, job="back", state=folder, size="2:3", at=address, **variables):
            words = [MDIST, "store", at, "-n", size, "--job", job, "--no-secret", "--state", str(state), *words]
            result = subprocess.run(words, env=environment(MDIST_ELASTIC_REPLICAS="8", **variables),
                                    capture_output=True, text=True, timeout=PATIENCE_S)
            self.assertNotEqual(result.returncode, 0)
            return result.stderr
        store, variables = self.store_at(address)
        self.assertIn("another process has locked", refused(at=free_address("127.0.0.85")))
        workers = [self.worker(variables) for _ in range(3)]
        for worker in workers:
            worker.await_lines("(begun)")
        store.kill()
        file = folder / "store.state"
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        self.assertIn('the state is that of the job "back" with 8 replicas', refused(job="other"))
        whole = file.read_bytes()
        file.write_bytes(whole[:-1])
        self.assertIn("is damaged", refused())
        file.write_bytes(b"hello")
        self.assertIn("is no state of a store", refused())
        file.write_bytes(whole[:4] + b"\x09" + whole[5:])
        self.assertIn("has version 9, but this store reads version 1", refused())
        file.write_bytes(whole)
        self.assertIn("name one", refused(at="127.0.0.84:0"))
        self.assertIn("--state needs an elastic job", refused(size="3"))
        self.assertIn("Not a directory", refused(state=file / "below"))
        store, _ = self.store_at(address)
        await_that(lambda: "3 of 3 workers are connected" in "".join(store.lines), "workers that come back")
        store.kill()
        for worker in workers:
            worker.kill()
        lost = refused(MDIST_ELASTIC_WAIT="0.5s", MDIST_COMMUNICATION_HEARTBEAT_TIMEOUT="0.5s")
        self.assertIn("none of the 3 workers of generation 1 has come back to the store within 1 s", lost)
        self.assertEqual(list(folder.iterdir()), [])

    @in_time(3)
    def test_workers_of_torchrun_join(self, limit_s):
        self.begin(limit_s)
        secret = str(self.folder / f"secret-{limit_s}")
        subprocess.run([MDIST, "secret", secret], check=True, timeout=PATIENCE_S)
        store, variables = self.store("1:2", "--job", "torch", "--secret-file", secret)
        self.assertEqual(variables["MDIST_SECRET_FILE"], secret)

        def by_torchrun(rank, restart):
            return self.worker(variables, RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE="2",
                               MASTER_ADDR="127.0.0.1", MASTER_PORT="1", TORCHELASTIC_RUN_ID="none",
                               TORCHELASTIC_RESTART_COUNT=str(restart))
        workers = [by_torchrun(rank, 0) for rank in range(2)]
        for worker in workers:
            worker.await_lines("(begun)")
        workers.pop(0).kill()
        workers.append(by_torchrun(0, 1))
        workers[1].await_lines("(begun)")
        self.assertEqual(self.results(workers), self.undisturbed())

    @in_time(3)
    def test_two_launchers_run_one_job(self, limit_s):
        self.begin(limit_s)
        address = free_address("127.0.0.81")

        def launcher(node):
            return self.run_beside(MDIST, "launch", "-n", "1:4", "--nodes", "2", "--node-rank", str(node), "--store",
                                   address, "--no-secret", "--", WORKER, "worker", TEST_GATE=str(self.gate))
        first, second = launcher(0), launcher(1)
        for each in (first, second):
            each.await_lines("(begun)", 2)
        os.kill(int(second.await_lines(r"pid (\d+)", 2)[0]), signal.SIGKILL)
        second.await_lines("(begun)", 3)
        os.kill(int(first.await_lines(r"pid (\d+)", 2)[1]), signal.SIGKILL)
        first.await_lines("(begun)", 3)
        self.assertEqual(self.results([first, second]), self.undisturbed())

    @in_time(3)
    def test_a_worker_that_was_too_slow_is_told_so(self, limit_s):
        self.begin(limit_s)
        hang = self.folder / f"hang-{limit_s}"
        self.silence["MDIST_COMMUNICATION_TIMEOUT"] = f"{limit_s}s"
        _, variables = self.store("1:3")
        workers = [self.worker(variables, TEST_DIE="hang 50 1", TEST_HANG=str(hang)) for _ in range(3)]
        for worker in workers:
            worker.await_lines("(begun)")
        await_that(lambda: hang.exists() and hang.read_text().endswith("\n"), "a worker that hangs")
        (slow,) = (worker for worker in workers if worker.process.pid == int(hang.read_text()))
        results = self.results([worker for worker in workers if worker is not slow])
        (self.folder / f"hang-{limit_s}.over").touch()
        self.assertEqual(slow.await_lines(r"failed mdist_regroup: MDIST_ERR_ABORTED (\w+)"), ["dropped"])
        self.assertEqual(results, self.undisturbed())

    def test_without_a_secret_nobody_comes_after_the_job_has_formed(self):
        self.begin(LONG_ENOUGH_S)
        _, variables = self.store("1:2", MDIST_ELASTIC_OPEN="false")
        workers = [self.worker(variables) for _ in range(2)]
        for worker in workers:
            worker.await_lines("(begun)")
        stranger = self.worker(variables)
        stranger.end()
        self.assertIn("UNAUTHENTICATED closed", "".join(stranger.lines))
        self.assertIn("elastic.open", "".join(stranger.lines))
        self.assertEqual(self.results(workers), self.undisturbed())

    def test_it_says_what_is_wrong(self):
        def fails(*arguments, **variables):
            return subprocess.run([MDIST, *arguments], env=environment(**variables), capture_output=True, text=True,
                                  timeout=PATIENCE_S)
        for size in ("3:2", "0:2", "0", "many"):
            result = fails("store", "127.0.0.1:0", "-n", size, "--no-secret", MDIST_ELASTIC_REPLICAS="8")
            self.assertEqual(result.returncode, 2, (size, result.stderr))
            self.assertIn("mdist store: -n", result.stderr)
        without = fails("store", "127.0.0.1:0", "-n", "2:3", "--no-secret")
        self.assertEqual(without.returncode, 1)
        self.assertIn("elastic.replicas", without.stderr)
        alone = subprocess.run([WORKER, "worker"], env=environment(MDIST_ELASTIC_REPLICAS="8"), capture_output=True, text=True,
                               timeout=PATIENCE_S)
        self.assertIn("CONFIG elastic_store", alone.stdout)
        self.assertIn("mdist store", alone.stdout)


if __name__ == "__main__":
    run_all(__name__)

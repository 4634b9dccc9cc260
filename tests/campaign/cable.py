# SPDX-License-Identifier: Apache-2.0
"""A campaign of elastic jobs on two hosts whose cable is cut. Two workers run on each host, and the store on one of
them. The half with the store must end with the digest of a training that was not disturbed. The other must end with
`no_store`, when it could not reach the store for `communication.join_timeout`."""
import collections
import os
import queue
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from elastic import COMMIT, LATE, PATIENCE_S, REPLICAS, STEPS, Strike, begins, moment, write_data
from time_limits import LONG_ENOUGH_S, Late, await_that, try_longer  # elastic.py says where they are
from workers import elastic_place, start

HOSTS = Path(__file__).resolve().parent.parent / "support/hosts.sh"
SIZE = 4
TRIES = 5  # the job may be over before the cable would have been cut; then another plan is tried
SILENCE_S = 3  # heartbeat timeout in the first try, since the other half is to be missed


def join_s(silence_s):
    """The join timeout, which the half without the store is to reach."""
    return 10 + silence_s


class Plan:
    """Which host has the store, and when the cable is cut: the last strike stops a worker until that is done."""

    def __init__(self, chance):
        self.near = chance.randrange(2)  # the host with the store has ranks 2 near and 2 near + 1
        self.kind = chance.choice(("step", "commit", "regroup"))
        if self.kind != "regroup":
            self.strikes = [begins(chance, SIZE, self.kind, sent=signal.SIGSTOP)]
            return
        # First a worker of the other half is lost. The regroup lasts until the store has missed it for long enough, and takes
        # 60 to 200 calls of the system: the cut comes as it begins, anywhere, or near its end.
        far = 2 * (1 - self.near) + chance.randrange(2)
        first, last = chance.choice(((1, 10), (1, 210), (60, 210)))
        self.strikes = [Strike(far, "step", chance.randrange(2, STEPS // 2), moment(chance, "step")),
                        Strike(-1, "regroup", 1, chance.randrange(first, last), signal.SIGSTOP, 0)]


class Run:
    """One job on two hosts."""

    def __init__(self, cable, hosts, plan, link, silence_s=LONG_ENOUGH_S):
        self.cable, self.hosts, self.plan, self.link, self.silence_s = cable, hosts, plan, link, silence_s

    def start(self, folder):
        address = f"10.78.0.{self.hosts[self.plan.near]}:4400"
        own = {"MDIST_ELASTIC_REPLICAS": str(REPLICAS), "MDIST_ELASTIC_COPIES": "2",
               "MDIST_ELASTIC_MIN_WORKERS": "1", "MDIST_ELASTIC_MAX_WORKERS": str(SIZE), "MDIST_ELASTIC_WAIT": "60s",
               "MDIST_ELASTIC_MAX_LOSSES_PER_COMMIT": "10", "MDIST_COMMUNICATION_IMPLEMENTATION": self.link,
               "MDIST_COMMUNICATION_HEARTBEAT_TIMEOUT": f"{self.silence_s}s",
               "MDIST_COMMUNICATION_JOIN_TIMEOUT": f"{join_s(self.silence_s)}s"}
        self.store = start(self.cable.mdist, "store", address, "-n", f"1:{SIZE}", "--job", "cable",
                           host=self.hosts[self.plan.near], **own)
        strikes = ["env", f"LD_PRELOAD={self.cable.preload}", f"STRIKE_FOLDER={folder}",
                   "STRIKES=" + ";".join(strike.words for strike in self.plan.strikes)] if self.plan.strikes else []
        self.workers = [start(*strikes, self.cable.program, "--elastic", "--data", self.cable.data, "--batch", "64",
                              "--epochs", "6", "--limit-steps", str(STEPS), "--commit", str(COMMIT),
                              host=self.hosts[rank // 2], **own, **elastic_place(rank, SIZE, address, "cable"))
                        for rank in range(SIZE)]

    def pull(self, state):
        subprocess.run(["ip", "-n", f"host{self.hosts[1]}", "link", "set", "eth0", state], check=True)

    def go_on(self, pid):
        """Lets a worker go on, which stops just after it has told so."""
        stat = Path("/proc", pid, "stat")
        await_that(lambda: re.search(r"\) [Tt] ", stat.read_text()), f"process {pid} has stopped")
        os.kill(int(pid), signal.SIGCONT)

    def cut(self, folder):
        """Cuts the cable when the worker has stopped. Returns when, and where the worker was; None if none stopped."""
        path = Path(folder, str(len(self.plan.strikes) - 1))
        def words():
            return path.read_text().split() if path.exists() else []
        await_that(lambda: len(words()) == 2 or all(worker.poll() is not None for worker in self.workers),
                   "a worker has stopped, or all have ended", 2 * PATIENCE_S)
        if len(words()) != 2:
            return None
        self.pull("down")
        self.go_on(words()[0])
        return time.monotonic(), words()[1]

    def execute(self):
        """Exit status, words and end of each worker; and what cut() returned."""
        with tempfile.TemporaryDirectory(prefix="mdist-strikes-") as folder:
            self.start(folder)
            ends = [None] * SIZE

            def follow(rank):
                worker = self.workers[rank]
                try:
                    said = worker.communicate(timeout=PATIENCE_S)[0]
                except subprocess.TimeoutExpired:
                    worker.kill()
                    said = worker.communicate()[0] + f"\nhas not ended in {PATIENCE_S} s"
                ends[rank] = worker.returncode, said, time.monotonic()

            followers = [threading.Thread(target=follow, args=(rank,)) for rank in range(SIZE)]
            for follower in followers:
                follower.start()
            cut = self.cut(folder) if self.plan.strikes else None
            for follower in followers:
                follower.join()
            self.store.kill()
            self.store.communicate()
            self.pull("up")
        return ends, cut


class Cable:
    def __init__(self, campaign):
        self.campaign, build = campaign, campaign.options.build
        self.mdist, self.program = str(build / "src/mdist"), str(build / "examples/fashion_mnist/fashion_mnist")
        self.preload = str(build / "tests/campaign/libstrike.so")
        self.tally, self.longest = collections.Counter(), 0.0
        self.lock, self.pairs = threading.Lock(), queue.Queue()

    def judge(self, plan, ends, cut):
        """What was wrong, or None."""
        if cut is None:
            return "the cable was not cut"
        near = ends[2 * plan.near:2 * plan.near + 2]
        far = [end for end in ends[2 - 2 * plan.near:][:2] if end[0] != -signal.SIGKILL]
        digests = {digest for end in ends for digest in re.findall(r"weights digest: (.*)", end[1])}
        seen = {images for end in near for images in re.findall(r"images seen: (.*)", end[1])}
        if any(end[0] != 0 for end in near) or digests != {self.digest} or seen != {str(STEPS * 64)}:
            return f"the half with the store: exit status {[end[0] for end in near]}, digests {digests}, images {seen}"
        with self.lock:
            self.longest = max([self.longest, *(end[2] - cut[0] for end in far)])
        told = f"MDIST_ERR_ABORTED: the store at .* could not be reached again within [0-9.]+ s"
        if any(end[0] <= 0 or not re.search(told, end[1]) for end in far):
            return f"the half without the store: exit status {[end[0] for end in far]}, without its reason"
        return None

    def run(self, seed):
        hosts = self.pairs.get()

        def once(silence_s):
            chance, cut = random.Random(seed), None
            link = chance.choice(("tcp", "auto"))
            for _ in range(TRIES):
                if cut is None:
                    plan = Plan(chance)
                    ends, cut = Run(self, hosts, plan, link, silence_s).execute()
            wrong = self.judge(plan, ends, cut)
            digests = {digest for end in ends for digest in re.findall(r"weights digest: (.*)", end[1])}
            if wrong and cut and silence_s < LONG_ENOUGH_S and digests <= {self.digest} and LATE.search(
                    "".join(end[1] for end in ends)):
                raise Late(wrong)
            return plan, link, ends, cut, wrong
        plan, link, ends, cut, wrong = try_longer(f"seed {seed}", SILENCE_S, once)
        self.pairs.put(hosts)
        with self.lock:
            where = f"{cut[1]} a {plan.kind}" if cut else "nowhere"
            self.tally[f"cut {where}: {'failed' if wrong else 'same digest, and no_store'}"] += 1
            self.campaign.passed += wrong is None
            if wrong:
                said = "\n".join(f"worker {rank}: {line}" for rank, end in enumerate(ends)
                                 for line in end[1].splitlines()[-1:])
                strikes = "; ".join(strike.words for strike in plan.strikes)
                what = f"seed {seed} (store with ranks {2 * plan.near}, {2 * plan.near + 1}; {link}; {strikes})"
                command = ["tests/campaign/run", "elastic:cable", "--count", "1", "--seed", str(seed)]
                self.campaign.fail(what, f"{said}\n{wrong}", command)

    def run_all(self):
        options = self.campaign.options
        if "TEST_HOSTS" not in os.environ:  # again, with hosts
            words = [str(HOSTS), "--hosts", str(2 * options.jobs), "--", sys.executable, *sys.argv, "--seed",
                     str(options.seed)]
            sys.stdout.flush()
            os.execv(HOSTS, words)
        for pair in range(options.jobs):
            self.pairs.put((2 * pair + 1, 2 * pair + 2))
        with tempfile.TemporaryDirectory(prefix="mdist-data-") as folder:
            write_data(Path(folder))
            self.data = folder
            undisturbed = Plan(random.Random(1))
            undisturbed.strikes = []
            ends, _ = Run(self, (1, 2), undisturbed, "tcp").execute()
            said = "\n".join(end[1] for end in ends)
            self.digest = (re.findall(r"weights digest: ([0-9a-f]{16})$", said, re.M) or [None])[0]
            if self.digest is None:
                return self.campaign.fail("undisturbed", said, ["tests/campaign/run", "elastic:cable"])
            began = time.monotonic()
            with ThreadPoolExecutor(options.jobs) as pool:
                list(pool.map(self.run, range(options.seed, options.seed + options.count)))
        for kind, count in sorted(self.tally.items()):
            print(f"  {count:5} {kind}")
        print(f"  in {time.monotonic() - began:.0f} s, digest {self.digest}; from the cut to the end of the other half "
              f"at most {self.longest:.1f} s (at first, heartbeat timeout {SILENCE_S} s, join timeout {join_s(SILENCE_S)} s)")

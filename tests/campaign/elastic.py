# SPDX-License-Identifier: Apache-2.0
"""Campaigns of elastic jobs: `mdist launch -n MIN:N -- fashion_mnist --elastic`, whose workers are killed or stopped at
chosen moments (strike.c), which are numbers of events. Each run must end with the digest of a training that was not disturbed."""
import collections
import gzip
import os
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from time_limits import LONG_ENOUGH_S, Late, await_that, try_longer  # noqa: E402
from workers import start  # noqa: E402

REPLICAS, COMMIT, STEPS = 8, 4, 60
PATIENCE_S = 500
MOST_CALLS = {"step": 40, "commit": 35, "regroup": 130, "join": 130}  # of the system, in most such calls
SILENCE_S = 1  # heartbeat timeout where a stopped worker is to be missed, in the first try
# What a worker ends with if it was missed, or missed others, by a limit that the machine made it reach.
LATE = re.compile(r"MDIST_ERR_(TIMEOUT|ABORTED|DATA_LOSS|PEER_LOST)")


class Strike:
    """One signal: in call `number` of this kind, of the process with this rank (-1: any), after strike `after`."""

    def __init__(self, rank, call, number, moment, sent=signal.SIGKILL, after=-1):
        self.call, self.stops = call, sent == signal.SIGSTOP
        self.words = f"{rank} {call} {number} {moment} {int(sent)} {after}"


class Plan:
    """What one run does: how many workers, how many copies, and which strikes."""

    def __init__(self, kind, size, copies, strikes, may_lose=False, least=1, mirrored=False):
        self.kind, self.size, self.copies, self.strikes, self.may_lose = kind, size, copies, strikes, may_lose
        self.mirrored = mirrored  # nothing belongs to one replica
        self.workers = f"{least}:{size}"


def moment(chance, call):
    """A random moment within a call of the library: how many calls of the system it has made."""
    return chance.randrange(1, MOST_CALLS[call])


def begins(chance, size, call, after=-1, sent=signal.SIGKILL):
    """A strike in a step or a commit, after the first commit."""
    number = chance.randrange(2, STEPS) if call == "step" else chance.randrange(1, STEPS // COMMIT)
    return Strike(chance.randrange(size), call, number, moment(chance, call), sent, after)


def one_killed(chance):
    size = chance.randrange(2, 5)
    return Plan("one", size, 1, [begins(chance, size, chance.choice(("step", "commit", "commit")))])


def in_the_regroup(chance):
    """A second worker, in the regroup after the loss of a first one."""
    size = chance.randrange(3, 5)
    first = begins(chance, size, "step")
    return Plan("two, one in the regroup", size, 2, [first, Strike(-1, "regroup", 1, moment(chance, "regroup"), after=0)])


def newcomer_killed(chance):
    """The newcomer itself, while it joins or while it enters; the next newcomer takes its place."""
    size = chance.randrange(2, 5)
    first = begins(chance, size, "step")
    rank = first.words.split()[0]
    call = chance.choice(("join", "regroup"))
    second = Strike(rank, call, 1, moment(chance, call), after=0)
    return Plan("two, one a newcomer", size, 2 if size > 2 else 1, [first, second])


def killed_as_one_joins(chance):
    """A worker that lets a newcomer in: in its second regroup, if the newcomer came after the first."""
    size = chance.randrange(3, 5)
    first = Strike(chance.randrange(size), "step", chance.randrange(2, STEPS // 2), moment(chance, "step"))
    return Plan("two, one lets a newcomer in", size, 2, [first, Strike(-1, "regroup", 2, moment(chance, "regroup"), after=0)])


def twice_with_a_commit_between(chance):
    size = chance.randrange(2, 5)
    at = chance.randrange(2, STEPS // 2)
    later = at + 3 * COMMIT + chance.randrange(0, STEPS // 4)
    strikes = [Strike(chance.randrange(size), "step", at, moment(chance, "step")), Strike(-1, "step", later, moment(chance, "step"), after=0)]
    return Plan("two, a commit between", size, 1, strikes, least=2)  # the last worker must not be killed


def two_at_once(chance, copies):
    size = chance.randrange(3, 5)
    a, b = chance.sample(range(size), 2)
    at = chance.randrange(2, STEPS)
    strikes = [Strike(rank, "step", at, moment(chance, "step")) for rank in (a, b)]
    return Plan(f"two at once, {copies} copies", size, copies, strikes, may_lose=copies == 1)


def all_but_one(chance):
    """All workers but one at about the same time, in a job whose state is all mirrored."""
    size = chance.randrange(2, 5)
    call = chance.choice(("step", "commit"))
    number = chance.randrange(2, STEPS) if call == "step" else chance.randrange(1, STEPS // COMMIT)
    strikes = [Strike(rank, call, number, moment(chance, call)) for rank in chance.sample(range(size), size - 1)]
    return Plan(f"{size - 1} of {size}, in a {call}", size, 1, strikes, mirrored=True)


def stopped(chance):
    """SIGSTOP for longer than the others wait. What it does afterwards does not count."""
    size = chance.randrange(2, 5)
    call = chance.choice(("step", "commit", "commit", "regroup"))
    if call != "regroup":
        return Plan(f"stopped in a {call}", size, 1, [begins(chance, size, call, sent=signal.SIGSTOP)])
    size = max(size, 3)
    first = begins(chance, size, "step")
    second = Strike(-1, "regroup", 1, moment(chance, "regroup"), signal.SIGSTOP, 0)
    return Plan("stopped in a regroup", size, 2, [first, second])


KILLS = (one_killed, one_killed, one_killed, in_the_regroup, newcomer_killed, killed_as_one_joins,
         twice_with_a_commit_between, lambda chance: two_at_once(chance, 2), lambda chance: two_at_once(chance, 1))


def rank_of(pid):
    """The rank of a worker, as it is in the lines of the launcher."""
    return re.search(rb"\0MDIST_RANK=(\d+)", Path(f"/proc/{pid}/environ").read_bytes())[1].decode()


def write_data(folder):
    """A small data set in the format of MNIST, the same each time."""
    chance = random.Random(1)
    for name, count in (("train", 640), ("t10k", 128)):
        images = b"".join(bytes(chance.choices(range(256), k=28 * 28)) for _ in range(count))
        with gzip.open(folder / f"{name}-images-idx3-ubyte.gz", "wb", 1) as out:
            out.write(struct.pack(">4I", 2051, count, 28, 28) + images)
        with gzip.open(folder / f"{name}-labels-idx1-ubyte.gz", "wb", 1) as out:
            out.write(struct.pack(">2I", 2049, count) + bytes(chance.choices(range(10), k=count)))


class Elastic:
    """Runs one kind of fault many times."""

    def __init__(self, campaign, fault):
        self.campaign, self.fault = campaign, fault
        self.mdist, self.program = (str(campaign.options.build / path)
                                    for path in ("src/mdist", "examples/fashion_mnist/fashion_mnist"))
        self.preload = str(campaign.options.build / "tests/campaign/libstrike.so")
        self.tally, self.struck = collections.Counter(), collections.Counter()
        self.lock = threading.Lock()

    def plan(self, chance):
        if self.fault == "kill":
            return chance.choice(KILLS)(chance)
        return stopped(chance) if self.fault == "stop" else all_but_one(chance)

    def start(self, plan, link, folder, silence_s):
        own = {"MDIST_ELASTIC_REPLICAS": str(REPLICAS), "MDIST_ELASTIC_COPIES": str(plan.copies),
               "MDIST_ELASTIC_MAX_LOSSES_PER_COMMIT": "10", "MDIST_COMMUNICATION_IMPLEMENTATION": link,
               "MDIST_COMMUNICATION_HEARTBEAT_TIMEOUT": f"{silence_s}s"}
        if plan.strikes:
            own.update(LD_PRELOAD=self.preload, STRIKE_FOLDER=folder,
                       STRIKES=";".join(strike.words for strike in plan.strikes))
        words = [self.mdist, "launch", "-n", plan.workers, "--", "env", *[f"{k}={v}" for k, v in own.items()
                 if k in ("LD_PRELOAD", "STRIKE_FOLDER", "STRIKES")], self.program, "--elastic", "--data", self.data,
                 "--batch", "64", "--epochs", "6", "--limit-steps", str(STEPS), "--commit", str(COMMIT),
                 *(["--mirrored"] if plan.mirrored else [])]
        return start(*words, **{k: v for k, v in own.items() if k.startswith("MDIST_")})

    def follow(self, process, plan, folder):
        """Returns what the job says. Lets a stopped worker run again once the others have given it up: then they say that
        they go on without it, or have the result."""
        waits = [Path(folder, str(i)) for i, strike in enumerate(plan.strikes) if strike.stops]
        lines, generations = [], collections.Counter()  # the last one that each rank has told of
        for line in process.stdout:
            lines.append(line)
            if not re.search(r"generation \d+: worker|weights digest|MDIST_ERR", line):
                continue
            if told := re.match(r"\[(\d+)\] generation (\d+): worker", line):
                generations[told[1]] = int(told[2])
            for path in list(waits):
                words = path.read_text().split() if path.exists() else []
                if len(words) == 2 and (not told or int(told[2]) > max(1, generations[rank_of(words[0])])):
                    os.kill(int(words[0]), signal.SIGCONT)
                    waits.remove(path)
        return "".join(lines)

    def execute(self, plan, link, silence_s=LONG_ENOUGH_S):
        """Exit status, what was said, and where the strikes came."""
        with tempfile.TemporaryDirectory(prefix="mdist-strikes-") as folder:
            process = self.start(plan, link, folder, silence_s)
            patience = threading.Timer(PATIENCE_S, process.terminate)  # then the launcher ends its workers, and the lines end
            patience.start()
            said = self.follow(process, plan, folder)
            code = process.wait()
            if patience.finished.is_set():
                said += f"\nhas not ended in {PATIENCE_S} s"
            patience.cancel()
            came = [(strike.call, path.read_text().split()[1:] or ["?"]) for i, strike in enumerate(plan.strikes)
                    if (path := Path(folder, str(i))).exists()]
        return code, said, [f"{where[0]} a {call}" for call, where in came]

    def judge(self, plan, code, said):
        """How the run ended: "same", "lost" or what is wrong."""
        if internal := re.search(r"MDIST_ERR_INTERNAL.*", said):
            return internal[0]
        digests = set(re.findall(r"weights digest: (.*)", said))
        seen = set(re.findall(r"images seen: (.*)", said))
        if code == 0 and digests == {self.digest} and seen == (set() if plan.mirrored else {str(STEPS * 64)}):
            return "same"
        lost = re.search(r"DATA_LOSS: too many workers were lost.*replicas \d+|the state of replicas \d+", said)
        if plan.may_lose and code != 0 and not digests and lost:
            return "lost"
        return f"exit status {code}, digests {sorted(digests)}, images seen {sorted(seen)}"

    def attempt(self, seed, plan, link):
        """How the run ended, what was said, and where the strikes came. Where a stopped worker is to be missed, another
        one that is missed, too, makes another try."""
        def once(silence_s):
            code, said, came = self.execute(plan, link, silence_s)
            found = self.judge(plan, code, said)
            is_late = found not in ("same", "lost") and LATE.search(said) and self.has_no_other_digest(said)
            if is_late and silence_s < LONG_ENOUGH_S:
                raise Late(found)
            return found, said, came
        return try_longer(f"seed {seed}", SILENCE_S, once) if self.fault == "stop" else once(LONG_ENOUGH_S)

    def has_no_other_digest(self, said):
        return set(re.findall(r"weights digest: (.*)", said)) <= {self.digest}

    def run(self, seed):
        chance = random.Random(seed)
        plan, link = self.plan(chance), chance.choice(("tcp", "auto"))
        found, said, came = self.attempt(seed, plan, link)
        with self.lock:
            self.tally[f"{plan.kind}: {found if found in ('same', 'lost') else 'failed'}"] += 1
            self.struck.update(came if came else ["no strike"])
            self.struck.update(f"worker ended with {name}" for name in re.findall(r"\] fashion_mnist: MDIST_ERR_(\w+)", said))
            self.campaign.passed += found in ("same", "lost")
            if found not in ("same", "lost"):
                command = ["tests/campaign/run", f"elastic:{self.fault}", "--count", "1", "--seed", str(seed)]
                strikes = "; ".join(strike.words for strike in plan.strikes)
                said = "\n".join(said.splitlines()[-30:])
                self.campaign.fail(f"seed {seed} ({plan.kind}; -n {plan.workers}, {link}, {strikes})", f"{said}\n{found}", command)

    def run_all(self):
        options = self.campaign.options
        with tempfile.TemporaryDirectory(prefix="mdist-data-") as folder:
            write_data(Path(folder))
            self.data = folder
            code, said, _ = self.execute(Plan("undisturbed", 2, 1, [], mirrored=self.fault == "all_but_one"), "tcp")
            self.digest = (re.findall(r"weights digest: ([0-9a-f]{16})$", said, re.M) or [None])[0]
            if code != 0 or self.digest is None:
                return self.campaign.fail("undisturbed", said, ["tests/campaign/run", f"elastic:{self.fault}"])
            began = time.monotonic()
            with ThreadPoolExecutor(options.jobs) as pool:
                list(pool.map(self.run, range(options.seed, options.seed + options.count)))
        for kind, count in sorted(self.tally.items()) + sorted(self.struck.items()):
            print(f"  {count:5} {kind}")
        print(f"  in {time.monotonic() - began:.0f} s, digest {self.digest}")


class Resized:
    """A job of 4 workers that gets 2, 4 and 2 in the midst of an epoch, with input from shuffled TFRecord files."""
    STEPS, BATCH = 1600, 16

    def __init__(self, campaign):
        self.campaign, build = campaign, campaign.options.build
        self.mdist, self.program = str(build / "src/mdist"), str(build / "examples/fashion_mnist/fashion_mnist")

    def start(self, workers, job):
        words = [self.mdist, "launch", "-n", workers, "--job", job, "--", self.program, "--elastic", "--records", self.data,
                 "--batch", str(self.BATCH), "--epochs", "40", "--limit-steps", str(self.STEPS), "--commit", "4"]
        return start(*words, MDIST_ELASTIC_REPLICAS=str(REPLICAS))

    def undisturbed(self):
        """What a job says that keeps its workers."""
        process = self.start("1:2", f"campaign-{os.getpid()}")
        try:
            return process.communicate(timeout=PATIENCE_S)[0]
        except subprocess.TimeoutExpired:
            process.terminate()
            return process.communicate()[0]

    def run(self, seed):
        """What was wrong, or None; and how many changes came in time."""
        chance, job = random.Random(seed), f"campaign-{os.getpid()}-{seed}"
        process = self.start("2:4", job)
        limit = threading.Timer(PATIENCE_S, process.terminate)  # then the launcher ends its workers, and the lines end
        limit.start()
        lines, came, told = [], 0, 0
        at = [4, 2, 4, 2]  # workers; the next change is asked for when some of them have told that they work
        enough = chance.randrange(1, at[0] + 1)
        for line in process.stdout:
            lines.append(line)
            told += came < len(at) and f"of {at[came]}, from step" in line
            if came < len(at) and told == enough:
                came, told = came + 1, 0
                if came < len(at):
                    enough = chance.randrange(1, at[came] + 1)
                    subprocess.run([self.mdist, "launch", "--resize", job, str(at[came])], capture_output=True)
        code, said = process.wait(), "".join(lines)
        limit.cancel()
        digests, seen = set(re.findall(r"weights digest: (.*)", said)), set(re.findall(r"images seen: (.*)", said))
        fine = code == 0 and digests == {self.digest} and seen == {str(self.STEPS * self.BATCH)}
        return (None if fine else f"{said}\nexit status {code}, digests {digests}, images seen {seen}"), max(came - 1, 0)

    def run_all(self):
        options, changes = self.campaign.options, collections.Counter()
        with tempfile.TemporaryDirectory(prefix="mdist-data-") as folder:
            write_data(Path(folder))
            for name in ("train", "t10k"):
                subprocess.run([self.mdist, "records", "--images", f"{folder}/{name}-images-idx3-ubyte.gz", "--labels",
                                f"{folder}/{name}-labels-idx1-ubyte.gz", "--out", f"{folder}/{name}", "--shards", "4"],
                               check=True, capture_output=True)
            self.data = folder
            said = self.undisturbed()
            self.digest = (re.findall(r"weights digest: ([0-9a-f]{16})$", said, re.M) or [None])[0]
            if self.digest is None:
                return self.campaign.fail("undisturbed", said, ["tests/campaign/run", "elastic:resize"])
            began = time.monotonic()
            for seed in range(options.seed, options.seed + options.count):
                wrong, came = self.run(seed)
                changes[came] += 1
                self.campaign.passed += wrong is None
                if wrong:
                    self.campaign.fail(f"seed {seed}", wrong, ["tests/campaign/run", "elastic:resize", "--count", "1", "--seed", str(seed)])
        for came, count in sorted(changes.items()):
            print(f"  {count:5} with {came} changes")
        print(f"  in {time.monotonic() - began:.0f} s, digest {self.digest}")


def usage_of(pid):
    """Threads, descriptors and KiB of memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return (int(re.search(r"Threads:\s+(\d+)", status)[1]), len(os.listdir(f"/proc/{pid}/fd")),
            int(re.search(r"VmRSS:\s+(\d+)", status)[1]))


def turns_of(pid):
    """How often a process has run."""
    return sum(map(int, re.findall(r"ctxt_switches:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())))


def usage_at_rest(pid, wanted, worker):
    """usage_of() when there are as many threads and descriptors as in `wanted`. Without that, when they have stayed the
    same while the worker has run many times. The job may still be regrouping."""
    same, last = 0, (usage_of(pid), turns_of(worker))

    def rests():
        nonlocal same, last
        now = usage_of(pid), turns_of(worker)
        if now[0][:2] != last[0][:2]:
            same = 0
        elif now[1] != last[1]:
            same += 1
        last = now
        return now[0][:2] == wanted[:2] if wanted else same == Long.LOOKS
    try:
        await_that(rests, "the process rests", LONG_ENOUGH_S)
    except AssertionError:
        pass  # what it is then counts
    return last[0]


class Long:
    """One job in which a worker is killed again and again. Rank 0 is never killed: it and the launcher must not grow."""
    SETTLED = 5  # kills, after which all that is allocated once has been allocated
    LOOKS = 50  # in which nothing has changed
    MORE_KIB = 2048  # that memory may grow by, since the allocator's arenas depend on the moment

    def __init__(self, campaign):
        self.campaign, build = campaign, campaign.options.build
        self.words = [str(build / "src/mdist"), "launch", "-n", "2:4", "--", str(build / "tests/multi/multi_elastic"), "worker"]
        self.begun, self.pids, self.rest = 0, [], []
        self.news = threading.Condition()

    def read(self, stream):
        for line in stream:
            with self.news:
                if pid := re.search(r"\[(\d+)\] pid (\d+)", line):
                    self.pids.append((int(pid[1]), int(pid[2])))
                self.begun += line.rstrip().endswith("begun")
                self.rest = [*self.rest[-20:], line.rstrip()]
                self.news.notify_all()

    def await_begun(self, count):
        with self.news:
            return self.news.wait_for(lambda: self.begun >= count, PATIENCE_S)

    def run(self):
        options, chance = self.campaign.options, random.Random(self.campaign.options.seed)
        process = start(*self.words, MDIST_ELASTIC_REPLICAS=str(REPLICAS), TEST_PID="1", TEST_STEPS="1000000000")
        reader = threading.Thread(target=self.read, args=(process.stdout,))
        reader.start()
        began, usage = time.monotonic(), []
        fine = self.await_begun(4)
        for number in range(options.count if fine else 0):
            newest = dict(self.pids)  # of each rank
            victim = newest[chance.choice([rank for rank in newest if rank != 0])]
            os.kill(victim, signal.SIGKILL)
            fine = self.await_begun(5 + number)
            if not fine or process.poll() is not None:
                break
            keeper = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            settled = usage[self.SETTLED] if len(usage) > self.SETTLED else (None, None)
            usage.append((usage_at_rest(newest[0], settled[0], newest[0]),
                          usage_at_rest((keeper or [process.pid])[0], settled[1], newest[0])))
            self.campaign.passed += 1
        process.terminate()
        reader.join()
        process.wait()
        if not fine:
            return self.campaign.fail(f"kill {len(usage)}: no newcomer", "\n".join(self.rest), ["tests/campaign/run", "elastic:long"])
        for who, index in (("rank 0", 0), ("the launcher", 1)):
            samples = [each[index] for each in usage[min(self.SETTLED, len(usage) - 1):]]
            first, last = samples[0], samples[-1]
            words = f"{who}: threads {first[0]} then {last[0]}, descriptors {first[1]} then {last[1]}, KiB {first[2]} then {last[2]}"
            print(f"  {words}")
            if first[:2] != last[:2] or last[2] > first[2] + self.MORE_KIB:
                self.campaign.fail(f"{who} has grown", words, ["tests/campaign/run", "elastic:long"])
        print(f"  {len(usage)} kills in {time.monotonic() - began:.0f} s")

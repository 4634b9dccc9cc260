#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests draw the same cases in every run, do not sleep, and do not depend on the speed of the machine.

Reads the sources in tests/ line by line. Refuses seeds that differ from run to run, sleeping, assertions on time, and
limits below 60 s. What may stay is in ALLOWED, with its reason. `test_sources_test.py --unused` prints what ALLOWED no
longer needs."""
import collections
import re
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Measurements, programs of others, and files that are no tests.
NO_TESTS = ("tests/bench/", "tests/frameworks/", "tests/abi/kept/", "tests/fuzz/corpus/",
            "tests/abi/test_sources_test.py")

C, PYTHON, SHELL = "C", "Python", "shell"
LONG_ENOUGH_S = 60

RULES = {  # what is refused, in which languages; a pattern with `value` is refused only if that is a short time
    "seed": (
        (C, r"\btime\((?:NULL|nullptr|0)\)|random_device|\bget(?:random|entropy)\b|/dev/u?random|\bs?rand\(|\bclock\(\)"),
        (PYTHON, r"\bsecrets\.|\burandom\b|/dev/u?random|\buuid[14]\(|SystemRandom|\bRandom\(\)|default_rng\(\)"
                 r"|\brandom\.(?:random|randrange|randint|uniform|choices?|shuffle|sample|getrandbits|randbytes)\("),
        (PYTHON, r"Random\([^)]*(?:time\.|getpid)"),
        (SHELL, r"\bS?RANDOM\b|/dev/u?random|\bshuf\b"),
    ),
    "sleep": (
        (C, r"\b(?:usleep|nanosleep|clock_nanosleep|sleep_for|sleep_until|sleep)\s*\("),
        (PYTHON, r"\btime\.sleep\(|(?<![\w.])sleep\("),
        (PYTHON, r"(?<![\w-])sleep (?!1000\b)[\d$.]"),  # of a shell within; who sleeps for 1000 s is ended by somebody
        (SHELL, r"(?<![\w-])sleep (?!1000\b)[\d$.]"),
    ),
    "time": (
        (C, r"(?:\bassert_\w+|\bREQUIRE|\bEXPECT|\bexpect)\(.*(?:elapsed|seconds\b|\btook\b|now_ns|\bclock\w*\()"),
        (PYTHON, r"\bassert\w*[ (].*(?:elapsed|seconds\b|\btook\b|monotonic|perf_counter|time\.time)"),
    ),
    "limit": (
        (C, r"(?i)\b\w*timeout\W{1,6}(?P<value>\d[\d.]* ?(?:us|ms|s|m))\b"),
        (C, r"timeout_ns *= *(?P<value>\d[\d']*)(?!.*<<)"),
        (C, r"\b(?P<value>(?:milli)?seconds\([\d']+\))"),
        (C, r"\balarm\((?P<value>\d+)\)"),
        (PYTHON, r"(?i)\b\w*timeout\W{1,6}(?P<value>\d[\d.]* ?(?:us|ms|s|m))\b"),
        (PYTHON, r"\btimeout=(?P<value>[\d.]+)\b"),
        (SHELL, r"(?i)\b\w*timeout[= ](?P<value>\d[\d.]* ?(?:us|ms|s|m)?)\b"),
    ),
}
ADVICE = {
    "seed": "take test_seed() of tests/support/random.h or seeds.py",
    "sleep": "wait for what must happen; tests/support/time_limits.h and time_limits.py ask again and again",
    "time": "assert what has happened, not when",
    "limit": f"healthy parties keep limits of {LONG_ENOUGH_S} s at least; one that must run out tries longer "
             "(tests/support/time_limits)",
}

MUST_RUN_OUT = "a limit that must run out: nobody comes, or somebody stands still"
ALLOWED = {  # (rule, file): (most lines, why)
    ("seed", "tests/campaign/run"): (1, "campaigns vary the seed, and print it"),
    ("seed", "tests/fake_gpu/nccl_shared.cpp"):
        (1, "a name that no process before this one may have left in shared memory"),
    ("sleep", "tests/support/time_limits.py"): (1, "await_that() asks again and again"),
    ("sleep", "tests/support/setup.sh"): (1, "asks again and again whether a package server has answered"),
    ("sleep", "tests/fake_gpu/streams.cpp"): (1, "the time that work takes on a simulated GPU, drawn from a seed"),
    ("sleep", "tests/fake_gpu/kernels.cpp"): (1, "the same, as a test asks for"),
    ("sleep", "tests/fake_gpu/nccl_comm.cpp"): (1, "asks again and again whether the others have come"),
    ("sleep", "tests/fake_gpu/nccl_work.cpp"): (1, "asks again and again whether the others have come"),
    ("time", "tests/support/time_limits.py"): (1, "patience for what hangs"),
    ("time", "tests/fake_gpu/streams_test.cpp"):
        (2, "the simulated clock between two events: work of 2 ms takes at least as long"),
    ("time", "tests/gpu/comm/several_workers.c"): (1, "a check for real GPUs, which looks for a hang"),
    ("time", "tests/multi/elastic_store_test.py"): (1, "patience for what hangs"),
    ("limit", "tests/unit/config_sources_test.cpp"): (4, "settings that are only read back"),
    ("limit", "tests/unit/config_test.cpp"): (7, "settings that are only read back"),
    ("limit", "tests/fuzz/yaml_fuzz.cpp"): (1, "settings that are only read back"),
    ("limit", "tests/api/misuse_test.c"): (1, "settings that are only read back"),
    ("limit", "tests/api/failure_test.c"): (1, MUST_RUN_OUT),
    ("limit", "tests/api/gradients_ends_test.c"): (1, MUST_RUN_OUT),
    ("limit", "tests/api/groups_failures_test.c"): (1, MUST_RUN_OUT),
    ("limit", "tests/multi/elastic_store_test.py"): (1, MUST_RUN_OUT),
    ("limit", "tests/api/long_wait_test.c"): (1, MUST_RUN_OUT),
    ("limit", "tests/api/message_on_done_test.c"): (1, MUST_RUN_OUT),
    ("limit", "tests/api/step_test.c"): (1, MUST_RUN_OUT),
    ("limit", "tests/api/work_descriptor_test.c"): (1, MUST_RUN_OUT),
    ("limit", "tests/api/work_on_done_test.c"): (1, MUST_RUN_OUT),
    ("limit", "tests/api/work_queue_test.c"): (1, MUST_RUN_OUT),
    ("limit", "tests/api/work_test.c"): (1, MUST_RUN_OUT),
    ("limit", "tests/ffi/cpp/failures.cpp"): (1, MUST_RUN_OUT),
    ("limit", "tests/ffi/cpp/groups.cpp"): (1, MUST_RUN_OUT),
    ("limit", "tests/ffi/cpp/types.cpp"): (1, "settings that are only read back"),
    ("limit", "tests/gpu_fake/failure_test.c"): (3, MUST_RUN_OUT),
    ("limit", "tests/gpu/comm/trainings_test.c"): (1, "after a fault, any worker may end with an error"),
    ("limit", "tests/gpu_faults/hang_test.c"): (1, MUST_RUN_OUT),
    ("limit", "tests/multi/messages_test.c"): (1, MUST_RUN_OUT),
    ("limit", "tests/multi/membership_test.cpp"): (2, "a setting on which workers disagree; patience for what hangs"),
    ("limit", "tests/unit/membership_strangers_test.cpp"): (3, "time is simulated"),
    ("limit", "tests/netns/names_test.py"): (1, "a name server that must not answer in time"),
    ("limit", "tests/support/hosts.sh"): (1, "asks again and again whether a host answers"),
    ("limit", "tests/fake_gpu/faults.cpp"): (1, "asks again and again"),
    ("limit", "tests/gpu/checks.cpp"): (1, "real GPUs: how long a busy GPU is kept busy"),
}


def language_of(path):
    if path.suffix in (".c", ".h", ".cpp"):
        return C
    if path.suffix == ".py":
        return PYTHON
    if path.suffix not in ("", ".sh"):
        return None
    with path.open("rb") as file:
        first = file.readline()
    return PYTHON if b"python" in first else SHELL if first.startswith(b"#!") or path.suffix == ".sh" else None


def seconds(value):
    """Of "5s", "300 ms", "6000000000" (ns, as in timeout_ns), "seconds(5)", "30" (s)."""
    number = float(re.search(r"[\d.']+", value)[0].replace("'", ""))
    if value.startswith("milliseconds") or "ms" in value:
        return number / 1000
    if "us" in value:
        return number / 1e6
    if value.endswith("m"):
        return number * 60
    return number / 1e9 if number >= 1e5 else number


def code_of(line, language):
    """The line without its comment."""
    return re.sub(r"(?<!:)//.*|^\s*/?\*.*", "", line) if language == C else re.sub(r"(?:^|\s)#(?!!).*", "", line)


def findings(root):
    """(rule, path, number, line) of each line that breaks a rule."""
    for path in sorted(root.glob("tests/**/*")):
        name = path.relative_to(root).as_posix()
        if not path.is_file() or name.startswith(NO_TESTS) or "__pycache__" in name:
            continue
        language = language_of(path)
        if language is None:
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            code = code_of(line, language)
            for rule, patterns in RULES.items():
                if any(breaks(re.search(pattern, code)) for which, pattern in patterns if which == language):
                    yield rule, name, number, line.strip()


def breaks(match):
    if match is None or "value" not in match.groupdict():
        return match is not None
    return 0 < seconds(match["value"]) < LONG_ENOUGH_S  # 0 stands for the default, or for no limit


def refused(root, allowed):
    """A sentence for each line that is too many."""
    found = collections.defaultdict(list)
    for rule, name, number, line in findings(root):
        found[rule, name].append(f"{name}:{number}: {line}")
    for (rule, name), lines in found.items():
        most, _ = allowed.get((rule, name), (0, ""))
        if len(lines) > most:
            yield "\n".join([f"{rule}: {len(lines)} lines, and ALLOWED has {most} for {name}; {ADVICE[rule]}", *lines])


class TestSources(unittest.TestCase):
    maxDiff = None

    def test_no_new_seeds_sleeps_assertions_on_time_and_short_limits(self):
        sentences = list(refused(ROOT, ALLOWED))
        self.assertFalse(sentences, "\n\n".join(["", *sentences]))

    def test_each_allowed_file_is_there_and_has_a_reason(self):
        for (rule, name), (most, reason) in ALLOWED.items():
            self.assertIn(rule, RULES)
            self.assertTrue((ROOT / name).is_file() or name.startswith("tests/support/time_limits"),
                            f"{name} is in ALLOWED, but not in tests/")
            self.assertGreater(most, 0, name)
            self.assertGreater(len(reason), 10, name)


class PlantedLines(unittest.TestCase):
    def check(self, name, lines, rules, allowed={}):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "tests", name)
            path.parent.mkdir(parents=True)
            path.write_text(lines)
            self.assertEqual([sentence.split(":")[0] for sentence in refused(Path(folder), allowed)], rules, lines)

    def test_bad_lines_are_refused(self):
        for name, line, rule in (
                ("api/x_test.c", "uint64_t seed = (uint64_t)time(NULL);", "seed"),
                ("unit/x_test.cpp", "std::mt19937_64 random(std::random_device{}());", "seed"),
                ("multi/x.h", "if (getrandom(bytes, 8, 0) < 0) return;", "seed"),
                ("multi/x_test.py", "seed = random.randrange(2**32)", "seed"),
                ("multi/x_test.py", "chance = random.Random()", "seed"),
                ("multi/x_test.py", "chance = random.Random(time.time())", "seed"),
                ("campaign/run", "#!/usr/bin/env python3\nseed = secrets.randbelow(9)", "seed"),
                ("support/x.sh", "seed=$RANDOM", "seed"),
                ("api/x_test.c", "usleep(1000);", "sleep"),
                ("unit/x_test.cpp", "std::this_thread::sleep_for(5ms);", "sleep"),
                ("multi/x_test.py", "    time.sleep(0.1)", "sleep"),
                ("multi/x_test.py", "script = 'echo; sleep 1; echo'", "sleep"),
                ("support/start", "#!/bin/bash\nsleep 0.5", "sleep"),
                ("api/x_test.c", "assert_true(elapsed < 5);", "time"),
                ("multi/x_test.py", "self.assertLess(time.monotonic() - begin, 5)", "time"),
                ("multi/x_test.c", 'add("MDIST_COMMUNICATION_HEARTBEAT_TIMEOUT=5s");', "limit"),
                ("api/x_test.c", 'OK(mdist_config_set(config, "communication.timeout", "300 ms", &error));', "limit"),
                ("api/x_test.c", "const mdist_call_options_t options = {.timeout_ns = 2000000000u};", "limit"),
                ("unit/x_test.cpp", "wait_for(std::chrono::seconds(5));", "limit"),
                ("multi/x_test.py", "environment(MDIST_COMMUNICATION_TIMEOUT='1s')", "limit"),
                ("multi/x_test.py", "subprocess.run(command, timeout=10)", "limit")):
            self.check(name, line + "\n", [rule])

    def test_good_lines_are_not(self):
        for name, line in (
                ("api/x_test.c", "const uint64_t first = test_seed(1); // not time(NULL)"),
                ("api/x_test.c", " * usleep(5) would be refused"),
                ("multi/x_test.c", 'add("MDIST_COMMUNICATION_HEARTBEAT_TIMEOUT=60s");'),
                ("api/x_test.c", ".timeout_ns = 0, .x = 5};"),
                ("api/x_test.c", ".timeout_ns = 60'000'000'000u};"),
                ("multi/x_test.py", "chance = random.Random(test_seed(1))"),
                ("multi/x_test.py", "script = 'while :; do sleep 1000; done'"),
                ("multi/x_test.py", "subprocess.run(command, timeout=180)"),
                ("bench/x.c", "usleep(1000);"),
                ("multi/x.txt", "time.sleep(1)")):
            self.check(name, line + "\n", [])

    def test_what_is_allowed_is_counted(self):
        allowed = {("sleep", "tests/a.c"): (1, "a reason")}
        self.check("a.c", "usleep(1);\n", [], allowed)
        self.check("a.c", "usleep(1);\nusleep(2);\n", ["sleep"], allowed)


def unused():
    found = collections.Counter((rule, name) for rule, name, _, _ in findings(ROOT))
    for key, (most, _) in ALLOWED.items():
        if found[key] < most:
            print(*key, f"has {found[key]} of {most} lines")


if __name__ == "__main__":
    if "--unused" in sys.argv:
        sys.exit(unused())
    unittest.main(argv=[sys.argv[0]], verbosity=1)

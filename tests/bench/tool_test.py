#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program mdist prints what its documentation says. Usage: tool_test.py MDIST CONFIGURATION_PAGE"""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

MDIST, PAGE = sys.argv[1], sys.argv[2]

NUMBERS = ["replicas", "bytes", "library_ns", "library_best_ns", "rounds"]
COMPARED = ["floor_ns", "floor_best_ns", "ratio"]
JUDGED = ["value", "goal"]
COMMANDS = ["env", "keys", "version", "bench", "launch", "check", "records", "secret", "store", "completions", "man"]


def mdist(*arguments, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MDIST_", "TF_CONFIG"))}
    return subprocess.run([MDIST, *arguments], env={**clean, **environment}, capture_output=True, text=True)


class Bench(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        result = mdist("bench", "--quick", "--json")
        assert result.returncode == 0, result.stderr
        cls.all = json.loads(result.stdout)

    def test_names_the_machine(self):
        machine = self.all["machine"]
        self.assertLessEqual(1, machine["usable_cpus"])
        self.assertLessEqual(machine["usable_cpus"], machine["online_cpus"])
        self.assertIn(machine["instruction_set"], ["AVX-512", "AVX2", "baseline"])
        self.assertIs(self.all["quick"], True)

    def test_every_case_is_complete(self):
        for case in self.all["cases"]:
            with self.subTest(case["name"]):
                for key in NUMBERS:
                    self.assertGreaterEqual(case[key], 0, key)
                self.assertGreaterEqual(case["library_ns"], case["library_best_ns"])
                for key in COMPARED:
                    self.assertEqual(case[key] is None, case["floor"] is None, key)
                for key in JUDGED:
                    self.assertEqual(case[key] is None, case["measure"] is None, key)
                if case["measure"] is not None:
                    self.assertEqual(case["verdict"], "ok" if case["value"] <= case["goal"] else "over")

    def test_names_are_unique(self):
        names = [case["name"] for case in self.all["cases"]]
        self.assertEqual(len(names), len(set(names)))

    def test_every_goal_is_there(self):
        judged = {case["name"]: (case["measure"], case["goal"]) for case in self.all["cases"] if case["measure"]}
        for replicas in (2, 4, 8):
            self.assertIn(("ratio", 1.15), [goal for name, goal in judged.items()
                                            if re.match(rf"all_reduce {replicas} x \d+ MiB", name)])
            self.assertEqual(judged[f"all_reduce {replicas} x 4 KiB"], ("ratio", 6))
        for replicas in (2, 4):
            batch = f"batch_reduce_to {replicas} x 1000 x 4 KiB"
            self.assertEqual(judged[batch + " / singles"], ("ratio", 0.2))
            self.assertEqual(judged[batch + " / whole"], ("ratio", 1.3))
            self.assertEqual(judged[f"assign {replicas} x 4 KiB"], ("ratio", 1.3))
        self.assertEqual(judged["run 1, back to back"], ("time_ns", 300))
        self.assertEqual(judged["run 2, back to back"], ("difference_ns", 1000))
        self.assertEqual(judged["run 2, after 1 ms of work"], ("ratio", 1.2))
        self.assertEqual(judged["sweep 8 x 1 MiB"], ("growth", 1.3))

    def test_filter_keeps_what_has_the_text_in_its_name(self):
        result = mdist("bench", "--quick", "--json", "--filter", "run 1")
        self.assertEqual([case["name"] for case in json.loads(result.stdout)["cases"]], ["run 1, back to back"])

    def test_filter_that_fits_nothing_is_an_error(self):
        result = mdist("bench", "--quick", "--filter", "no such case")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("no such case", result.stderr)

    def test_elastic_jobs_have_goals_too(self):
        result = mdist("bench", "--elastic", "--quick", "--json", BENCH_BOARD="elsewhere")  # does not make it a worker
        self.assertEqual(result.returncode, 0, result.stderr)
        judged = {case["name"]: (case["measure"], case["goal"]) for case in json.loads(result.stdout)["cases"]}
        self.assertEqual(judged, {"loss of a worker, 4 workers": ("time_ns", 1e9), "commit 2x1 x 4 MiB": ("ratio", 1.25),
                                  "elastic step 2x1 x 1 MiB, to memory": ("ratio", 1.02),
                                  "elastic step 2x1 x 1 MiB, to variable": ("ratio", 1.02)})

    def test_table_ends_in_a_count_of_goals(self):
        result = mdist("bench", "--quick", "--filter", "run 1")
        self.assertRegex(result.stdout.splitlines()[-1], r"^[01] of 1 goals hold$")


class Environment(unittest.TestCase):
    def test_shows_every_key_with_its_default(self):
        rows = re.findall(r"^\| `(.+?)` \| `.+?` \| (?:`(.+?)`|–) \|", mdist("keys", "--markdown").stdout, re.MULTILINE)
        shown = json.loads(mdist("env", "--json").stdout)["config"]
        self.assertEqual(list(shown.items()), rows)

    def test_shows_what_the_environment_sets(self):
        result = mdist("env", "--json", MDIST_DEVICES="cpu*3", MDIST_EXECUTOR="caller")
        shown = json.loads(result.stdout)
        self.assertEqual(shown["config"]["executor"], "caller")
        self.assertEqual(shown["replicas"], ["cpu:0", "cpu:1", "cpu:2"])
        self.assertEqual(result.returncode, 0)

    def test_shows_the_cluster_and_what_was_passed_over(self):
        two = json.dumps({"cluster": {"worker": ["h0:1", "h1:1"]}, "task": {"type": "worker", "index": 1}})
        shown = json.loads(mdist("env", "--json", TF_CONFIG=two).stdout)
        cluster = shown["cluster"]
        self.assertEqual((cluster["rank"], cluster["workers"], cluster["is_chief"]), (1, 2, False))
        self.assertEqual(cluster["found"], ["worker 1 (h1:1), rank 1 of 2, by tf_config (TF_CONFIG)",
                                            "workers meet at h0:1"])
        self.assertIn("slurm: SLURM_STEP_ID is not set", cluster["passed_over"])
        self.assertEqual(shown["replicas"], ["cpu:0"])
        text = mdist("env", TF_CONFIG=two).stdout
        self.assertIn("cluster   worker 1 (h1:1), rank 1 of 2, by tf_config (TF_CONFIG)\n", text)
        self.assertIn("    not by torch: RANK and WORLD_SIZE are not set\n", text)

    def test_shows_which_links_would_be_used_and_why(self):
        two = json.dumps({"cluster": {"worker": ["h0:1", "h1:1"]}, "task": {"type": "worker", "index": 1}})
        self.assertIn("links     none: there is one worker", mdist("env").stdout)
        text = mdist("env", TF_CONFIG=two).stdout
        self.assertIn("links     shared memory with workers of this host (communication.implementation is auto)\n", text)
        self.assertIn("links     tcp with workers of other hosts\n", text)
        links = json.loads(mdist("env", "--json", TF_CONFIG=two, MDIST_COMMUNICATION_IMPLEMENTATION="tcp").stdout)["links"]
        self.assertEqual(links, ["no shared memory: communication.implementation is tcp",
                                     "tcp with all workers: communication.implementation is tcp"])

    def test_shows_the_gpus_or_why_there_are_none(self):
        nowhere = {"MDIST_CUDA_MODULE": "/nowhere/module.so"}
        shown = json.loads(mdist("env", "--json", **nowhere).stdout)
        self.assertEqual(shown["gpus"], {"count": 0, "told": ["MDIST_CUDA_MODULE names /nowhere/module.so, which does not exist"]})
        self.assertFalse(shown["features"]["cuda"] or shown["features"]["nccl"])
        self.assertIn("GPUs      none: MDIST_CUDA_MODULE names", mdist("env", **nowhere).stdout)

    def test_says_what_contradicts_each_other(self):
        result = mdist("env", MDIST_RANK="0", MDIST_SIZE="2", MDIST_STORE="h:1", RANK="1", WORLD_SIZE="2",
                       MASTER_ADDR="h", MASTER_PORT="2")
        self.assertEqual(result.returncode, 1)
        self.assertIn("says rank 0 of 2, but torchrun", result.stderr)

    def test_says_why_there_is_no_strategy(self):
        result = mdist("env", MDIST_DEVICES="toaster:0")
        self.assertEqual(result.returncode, 1)
        self.assertIn("toaster", result.stderr)

    def test_text_and_json_name_one_version(self):
        version = json.loads(mdist("env", "--json").stdout)["version"]
        self.assertEqual(mdist("version").stdout, f"mdist {version}\n")
        self.assertIn(version, mdist("env").stdout)


class Check(unittest.TestCase):
    def test_checks_of_gpus_come_with_the_module(self):
        result = mdist("check", "--gpu")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("the checks come with the wheel mdist-cuda", result.stderr)

    def test_checks_of_gpus_read_no_cluster(self):
        self.assertEqual(mdist("check", "--gpu", "--join").returncode, 2)


class Keys(unittest.TestCase):
    def test_the_manual_has_the_table_that_is_made_of_the_keys(self):
        with open(PAGE, encoding="utf-8") as page:
            table = re.search(r"^## Keys\n\n((?:\|.*\n)+)", page.read(), re.MULTILINE)[1]
        self.assertEqual(table, mdist("keys", "--markdown").stdout,
                         "put the output of `mdist keys --markdown` in its place, behind \"## Keys\"")

    def test_people_read_what_a_key_takes(self):
        text = mdist("keys").stdout
        self.assertIn("communication.timeout (MDIST_COMMUNICATION_TIMEOUT)\n"
                      "    How long a call may wait for others without any progress of theirs.\n"
                      "    Takes: duration. Default: 600s.\n", text)
        self.assertIn("    Takes: threads, caller. Default: threads.\n", text)
        self.assertIn("    Takes: count. Default: none.\n", text)


class CommandLine(unittest.TestCase):
    def test_unknown_words_are_refused(self):
        for arguments in (["toast"], [], ["bench", "--frobnicate"], ["env", "extra"]):
            with self.subTest(arguments):
                result = mdist(*arguments)
                self.assertEqual(result.returncode, 2)
                self.assertNotEqual(result.stderr, "")
                self.assertEqual(result.stdout, "")

    def test_no_word_at_all_shows_the_commands(self):
        for subcommand in ("bench", "check", "env", "keys", "launch", "records", "version"):
            self.assertIn(subcommand, mdist().stderr)

    def test_a_command_that_is_not_there_is_named_with_the_nearest(self):
        self.assertIn('mdist: "lanch" is not a command; did you mean "launch"?\n', mdist("lanch").stderr)
        self.assertIn('mdist: "bogus" is not a command; the commands are env, keys, ', mdist("bogus", "x").stderr)

    def test_the_version_is_an_option_too(self):
        result = mdist("--version")
        self.assertEqual((result.returncode, result.stdout), (0, mdist("version").stdout))
        self.assertNotEqual(result.stdout, "")

    def test_help_speaks_of_no_types_of_the_parser(self):
        for subcommand in ("bench", "check", "env", "keys", "launch", "records", "version"):
            self.assertNotRegex(mdist(subcommand, "--help").stdout, r"\b(UINT|FLOAT|BOOLEAN|INT:|TEXT:|INT in)|\{")

    def test_help_fits_80_columns_and_shows_an_example(self):
        for page in [mdist("--help").stdout] + [mdist(command, "--help").stdout for command in COMMANDS]:
            self.assertLessEqual(max(map(len, page.splitlines())), 80, page)
            self.assertRegex(page, r"(?m)^Examples:\n\n    .*mdist")

    def test_help_is_a_command_too(self):
        self.assertEqual(mdist("help").stdout, mdist("--help").stdout)
        self.assertEqual(mdist("help", "launch").stdout, mdist("launch", "--help").stdout)

    def test_the_manual_names_every_option(self):
        for command in COMMANDS:
            page = mdist("man", command).stdout
            self.assertTrue(page.startswith(f".TH MDIST\\-{command.upper()} 1 "), page)
            for option in set(re.findall(r"--[a-z-]+", mdist(command, "--help").stdout)) - {"--"}:
                self.assertIn(option.replace("-", "\\-"), page)
        self.assertEqual(mdist("man", "toast").returncode, 2)

    def completed(self, *words):
        script = (mdist("completions", "bash").stdout +
                  'COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _mdist; printf "%s\\n" "${COMPREPLY[@]}"')
        result = subprocess.run(["bash", "-c", script, "bash", "mdist", *words], capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout.split()

    def test_bash_completes_commands_and_options(self):
        self.assertEqual(self.completed("la"), ["launch"])
        self.assertEqual(set(self.completed("")) & set(COMMANDS), set(COMMANDS))
        self.assertEqual(self.completed("launch", "--no-"), ["--no-secret", "--no-input", "--no-prefix"])
        self.assertEqual(self.completed("launch", "--log-dir", ""), [])  # files, by readline
        self.assertEqual(self.completed("launch", "./tr"), [])

    def test_other_shells_read_their_completions(self):
        for shell, check in (("zsh", "-n"), ("fish", "--no-execute")):
            script = mdist("completions", shell).stdout
            for command in COMMANDS:
                self.assertIn(command, script)
            if shutil.which(shell):
                result = subprocess.run([shell, check, "/dev/stdin"], input=script, capture_output=True, text=True)
                self.assertEqual((result.returncode, result.stderr), (0, ""), shell)
        self.assertEqual(mdist("completions", "toast").returncode, 2)

    def test_help_is_no_error(self):
        result = mdist("--help")
        self.assertEqual(result.returncode, 0)
        for subcommand in ("bench", "check", "env", "launch", "version"):
            self.assertIn(subcommand, result.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)

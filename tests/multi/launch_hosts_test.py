#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`mdist launch --hosts`, with a remote shell that runs everything here. Usage: launch_hosts_test.py MDIST"""
import os
import signal

from launch_support import Case, Lifeline, Running, hears, launch, run_all

# Works as ssh does: takes a host, then words that it joins by spaces for the shell there. The shell has its own session,
# so that only the end of the connection tells it that the launcher is gone.
RSH = """#!/bin/sh
host=$1
shift
FAKE_HOST=$host exec sh -c "$*"
"""


class Hosts(Case):
    def setUp(self):
        super().setUp()
        self.rsh = ["--rsh", self.script("rsh", RSH), "--store", "127.0.0.1:0"]

    def launch(self, hosts, script, *arguments, options=()):
        return launch("--hosts", hosts, *self.rsh, *options, "--", "sh", "-c", script, "sh", *arguments)

    def running(self, hosts, script, *arguments, options=()):
        return Running("--hosts", hosts, *self.rsh, *options, "--", "sh", "-c", script, "sh", *arguments)

    def test_ranks_go_from_host_to_host(self):
        result = self.launch("alpha:2,beta,localhost:1",
                             'echo "$FAKE_HOST $MDIST_SIZE $MDIST_LOCAL_RANK/$MDIST_LOCAL_SIZE $MDIST_NODE_RANK/$MDIST_NODES"')
        self.assertEnds(result, 0)
        self.assertEqual(sorted(result.stdout.splitlines()), ["[0] alpha 4 0/2 0/3", "[1] alpha 4 1/2 0/3",
                                                              "[2] beta 4 0/1 1/3", "[3]  4 0/1 2/3"])

    def test_a_file_names_hosts_as_open_mpi_and_mpich_write_them(self):
        file = self.folder / "hosts"
        file.write_text("# all of them\n\nalpha slots=2 max_slots=4\r\n  beta:1  # spare\ngamma\nalpha\n::1 slots=1\n")
        result = launch("--hostfile", str(file), *self.rsh, "--", "sh", "-c", 'echo "$FAKE_HOST $MDIST_SIZE $MDIST_NODES"')
        self.assertEnds(result, 0)
        self.assertEqual(sorted(result.stdout.splitlines()), ["[0] alpha 6 4", "[1] alpha 6 4", "[2] alpha 6 4", "[3] beta 6 4",
                                                              "[4] gamma 6 4", "[5]  6 4"])

    def test_errors_of_a_file_of_hosts_name_its_line(self):
        file = self.folder / "hosts"
        for text, sentence in (
                ("alpha\nbeta slot=2\n", f'{file}:2: "slot=2" is not known; write alpha, alpha:2 or alpha slots=2'),
                ("alpha beta\n", f'{file}:1: "beta" is not known'),
                ("alpha slots=x\n", f'{file}:1 alpha:x: "x" is not a number'),
                ("alpha\n\nbeta slots=0\n", f'{file}:3: "beta:0" is not a valid host'),
                ("# none\n\n", f"--hostfile {file} names no host")):
            file.write_text(text)
            result = launch("--hostfile", str(file), "--", "true")
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn(sentence, result.stderr)
        for path, why in ((self.folder / "none", "No such file"), (self.folder, "Is a directory")):
            result = launch("--hostfile", str(path), "--", "true")
            self.assertIn(f"--hostfile {path} cannot be read: {why}", result.stderr)
        result = launch("--hosts", "alpha", "--hostfile", str(file), "--", "true")
        self.assertIn("--hosts and --hostfile both name hosts", result.stderr)

    def test_fewer_workers_fill_the_first_hosts(self):
        result = self.launch("alpha:2,beta:2", 'echo "$FAKE_HOST $MDIST_NODES"', options=["-n", "2"])
        self.assertEqual(sorted(result.stdout.splitlines()), ["[0] alpha 1", "[1] alpha 1"])

    def test_words_arrive_as_they_are(self):
        words = ["", "a b", "it's", '"$HOME"', "*", "back\\slash", "new\nline", "; exit 9", "-n", "é"]
        result = self.launch("alpha", 'for word; do printf "<%s>" "$word"; done; echo "|$A"', *words,
                             options=["--env", "A=it's \"$HOME\" `x`", "--no-prefix"])
        self.assertEnds(result, 0)
        self.assertEqual(result.stdout, "".join(f"<{word}>" for word in words) + "|it's \"$HOME\" `x`\n")

    def test_workers_run_in_the_launchers_folder(self):
        self.assertEqual(self.launch("alpha", "pwd", options=["--no-prefix"]).stdout, os.getcwd() + "\n")

    def test_exit_codes_come_back(self):
        result = self.launch("alpha,beta", '[ "$MDIST_RANK" = 1 ] && exit 9; exec sleep 1000', options=["--grace", "0.1"])
        self.assertEnds(result, 9)
        self.assertRegex(result.stderr, r"(?m)^ +1  beta +\d+ .* exit code 9  <- first failure$")

    def test_signals_reach_the_other_side(self):
        for name in ("INT", "TERM", "USR1"):
            with self.subTest(name), Running("--hosts", "alpha,beta", *self.rsh, *hears(name)) as job:
                job.lines(2)
                job.send(getattr(signal, "SIG" + name))
                self.assertEqual(job.end(), 0, job.errors)
                self.assertEqual(sorted(job.output.splitlines()), [f"[0] got {name}", f"[1] got {name}"])

    def test_who_does_not_hear_sigterm_is_killed_over_there(self):
        lifeline = Lifeline(self.folder)
        script = 'exec 9>"$1"; trap "" TERM; echo up; while :; do sleep 1000; done'
        with self.running("alpha", script, lifeline.path, options=["--grace", "0.1"]) as job:
            job.lines(1)
            job.send(signal.SIGTERM)
            self.assertEqual(job.end(), 128 + signal.SIGTERM)
            lifeline.at_end()

    def test_nothing_stays_over_there_when_the_launcher_is_killed(self):
        lifeline = Lifeline(self.folder)
        with self.running("alpha", 'exec 9>"$1"; echo up; sleep 1000 & wait', lifeline.path,
                          options=["--grace", "1"]) as job:
            job.lines(1)
            job.send(signal.SIGKILL)
            lifeline.at_end()

    def test_no_files_stay_over_there(self):
        for script in ("exit 0", "exit 3", "kill -KILL $$"):
            launch("--hosts", "alpha,beta", *self.rsh, "--", "sh", "-c", script,
                   env={"TMPDIR": str(self.folder)})
            self.assertEqual([path.name for path in self.folder.iterdir()], ["rsh"])

    def test_a_remote_shell_that_is_not_there_is_127(self):
        result = launch("--hosts", "alpha", "--store", "127.0.0.1:0", "--rsh", "no-such-shell", "--", "true")
        self.assertEnds(result, 127)
        self.assertIn("cannot run no-such-shell", result.stderr)


if __name__ == "__main__":
    run_all(__name__)

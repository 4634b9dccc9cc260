#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`mdist launch` if something is killed: who is blamed, who may save, what is left. Usage: launch_kills_test.py MDIST"""
import os
import signal
import sys

from launch_support import Case, Lifeline, Running, await_state, hears, run_all
from seeds import is_long
from time_limits import await_that

# Prints its pid and its parent's, then ends as a named pipe tells it to.
TOLD = """echo "$$ $PPID"
read -r how <"$1/$MDIST_RANK"
case $how in [0-9]*) exit "$how" ;; esac
kill -s "$how" $$"""
# Saves when it is asked to end. Saving takes until a byte comes by the named pipe.
SAVES = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
print("up", flush=True)
signal.sigwait([signal.SIGTERM])
print("saves", flush=True)
os.read(os.open(sys.argv[1], os.O_RDONLY), 1)
print("saved", flush=True)
"""
# Starts everything that a worker may start: two layers of shells, a session, and an orphaned child.
STARTS = """exec 9>"$1"
trap "" TERM HUP
sh -c 'sh -c "echo shells; sleep 1000; :"; :' &
setsid sh -c 'echo session; sleep 1000; :' &
(setsid sh -c 'echo orphan; sleep 1000; :' &)
echo "parent $PPID"
wait
:"""


class Blame(Case):
    def ends(self, *ends):
        """Returns the job's exit status after its workers ended in this order while the launcher was not looking."""
        for rank in range(len(ends)):
            os.mkfifo(self.folder / str(rank))
        with Running("-n", str(len(ends)), "--", "sh", "-c", TOLD, "sh", str(self.folder)) as job:
            pids, keeper = {}, None
            for line in job.lines(len(ends)):
                rank, pids[rank], keeper = line.replace("[", "").replace("]", "").split()
            os.kill(int(keeper), signal.SIGSTOP)
            await_state(keeper, "T")
            for rank, how in ends:
                (self.folder / str(rank)).write_text(how + "\n")
                await_state(pids[str(rank)], "Z")
            os.kill(int(keeper), signal.SIGCONT)
            status = job.end()
        self.assertEqual(job.errors.count("<- first failure"), 1, job.errors)
        return status, [int(line.split()[0]) for line in job.errors.splitlines() if "<- first failure" in line][0]

    def test_the_killed_worker_is_the_cause_though_others_ended_before_it(self):
        self.assertEqual(self.ends((0, "1"), (2, "1"), (1, "KILL")), (137, 1))

    def test_the_first_of_those_that_were_killed_is_the_cause(self):
        self.assertEqual(self.ends((0, "1"), (2, "SEGV"), (1, "KILL")), (139, 2))

    def test_the_first_that_failed_is_the_cause_where_none_was_killed(self):
        self.assertEqual(self.ends((2, "3"), (0, "1"), (1, "1")), (3, 2))

    def test_an_exception_that_nobody_catches_is_no_better_cause_than_an_exit_code(self):
        self.assertEqual(self.ends((1, "3"), (0, "ABRT"), (2, "1")), (3, 1))

    def test_one_that_is_stopped_is_the_cause_of_others_failures(self):
        for rank in range(3):
            os.mkfifo(self.folder / str(rank))
        with Running("-n", "3", "--grace", "0.5", "--", "sh", "-c", TOLD, "sh", str(self.folder)) as job:
            pids = {}
            for line in job.lines(3):
                rank, pids[rank], _ = line.replace("[", "").replace("]", "").split()
            os.kill(int(pids["1"]), signal.SIGSTOP)
            await_state(pids["1"], "T")
            (self.folder / "2").write_text("3\n")
            (self.folder / "0").write_text("4\n")
            status = job.end()
        self.assertIn(status, (3, 4), job.errors)  # of one that ended by itself
        self.assertIn("rank 1 is stopped (SIGSTOP), and rank", job.errors)
        (blamed,) = (line for line in job.errors.splitlines() if "<- first failure" in line)
        self.assertRegex(blamed, r"^ +1 .*<- first failure: it was stopped$")

    def test_a_shell_that_tells_of_a_kill_is_believed(self):
        self.assertEqual(self.ends((0, "1"), (1, "137")), (137, 1))


class Asked(Case):
    def test_workers_may_save_when_timeout_tells_launcher_and_group(self):
        for _ in range(50 if is_long() else 5):
            pipe = self.folder / "disk"
            os.mkfifo(pipe)
            with Running("-n", "2", "--grace", "1000", "--", sys.executable, "-c", SAVES, str(pipe),
                         wrapper=["timeout", "1000"]) as job:
                job.lines(2)
                job.send(signal.SIGTERM)  # timeout passes this on, as it sends its own when the time is over
                self.assertEqual(job.lines(2), ["[0] saves", "[1] saves"])
                disk = os.open(pipe, os.O_RDWR)
                os.write(disk, b"12")
                self.assertEqual(job.end(), 0, job.errors)
                os.close(disk)
                self.assertEqual(sorted(job.output.splitlines()), ["[0] saved", "[1] saved"], job.errors)
            pipe.unlink()

    def test_a_stopped_worker_hears_that_it_is_to_end(self):
        arguments = hears("TERM")
        arguments[3] = arguments[3].replace('"up"', '"up", os.getpid()').replace("import", "import os,")
        with Running("-n", "1", "--grace", "1000", *arguments) as job:
            pid = int(job.lines(1)[0].split()[-1])
            os.kill(pid, signal.SIGSTOP)
            await_state(pid, "T")
            job.send(signal.SIGTERM)
            self.assertEqual(job.end(), 0, job.errors)


class Left(Case):
    def started(self):
        self.lifeline = Lifeline(self.folder)
        return Running("-n", "2", "--", "sh", "-c", STARTS, "sh", self.lifeline.path, env={"TMPDIR": str(self.folder)})

    def keeper(self, job):
        """Returns the process that runs the job, once everything has been started."""
        lines = job.lines(8)
        self.assertEqual([line.split()[1] for line in lines], ["orphan", "parent", "session", "shells"] * 2)
        return int(lines[1].split()[-1])

    def assertNothingLeft(self, job):
        self.lifeline.at_end()
        self.assertEqual(job.process.stdout.read(), "")  # the end of the stream: the keeper is gone, too
        self.assertEqual([path.name for path in self.folder.iterdir() if not path.name.startswith("tsan.")], ["lifeline"])

    def test_everything_ends_when_the_launcher_is_killed(self):
        with self.started() as job:
            self.keeper(job)
            job.send(signal.SIGKILL)
            self.assertNothingLeft(job)

    def test_everything_ends_when_the_launchers_group_is_killed(self):
        self.lifeline = Lifeline(self.folder)
        with Running("-n", "2", "--", "sh", "-c", STARTS, "sh", self.lifeline.path, env={"TMPDIR": str(self.folder)},
                     wrapper=["setsid"]) as job:
            self.keeper(job)
            os.killpg(job.process.pid, signal.SIGKILL)
            self.assertNothingLeft(job)

    def test_no_secret_is_left_if_the_launcher_is_killed_as_soon_as_there_is_one(self):
        for _ in range(100 if is_long() else 10):
            with Running("-n", "1", "--", "sleep", "1000", env={"TMPDIR": str(self.folder)}) as job:
                await_that(lambda: any(self.folder.glob("mdist-*")), "the secret's folder")
                job.send(signal.SIGKILL)
                self.assertEqual(job.process.stdout.read(), "")  # the keeper is gone, too
                self.assertEqual(list(self.folder.glob("mdist-*")), [])

    def test_everything_ends_when_the_keeper_is_killed(self):
        with self.started() as job:
            keeper = self.keeper(job)
            os.kill(keeper, signal.SIGKILL)
            self.assertEqual(job.process.wait(60), 137)
            self.assertNothingLeft(job)
            self.assertIn(f"process {keeper}, which ran the job, was killed by SIGKILL", job.process.stderr.read())


if __name__ == "__main__":
    run_all(__name__)

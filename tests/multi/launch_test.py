#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`mdist launch` on one machine: what comes out, how it ends, what is left. Usage: launch_test.py MDIST"""
import os
import pty
import re
import signal
import socket
import subprocess
import sys

from launch_support import MDIST, Case, Lifeline, Running, environment, hears, launch, run_all
from time_limits import PATIENCE_S, Late, in_time

PYTHON = sys.executable
# Prints its pid, then waits forever.
WAITING = 'echo "$$"; while :; do sleep 1000; done'


def shell(script, *arguments):
    return ["--", "sh", "-c", script, "sh", *arguments]


class Environment(Case):
    def test_every_worker_finds_its_place(self):
        names = ["RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE", "NODE_RANK", "NODES", "RESTART", "JOB_ID"]
        script = "echo " + " ".join(f"$MDIST_{name}" for name in names)
        result = launch("-n", "3", "--no-prefix", "--job", "mine", *shell(script))
        self.assertEnds(result, 0)
        self.assertEqual(sorted(result.stdout.splitlines()),
                         ["0 3 0 3 0 1 0 mine", "1 3 1 3 0 1 0 mine", "2 3 2 3 0 1 0 mine"])

    def test_all_workers_have_one_store(self):
        result = launch("-n", "3", "--no-prefix", *shell('echo "$MDIST_STORE $MDIST_JOB_ID"'))
        self.assertEqual(len(set(result.stdout.splitlines())), 1, result.stdout)
        self.assertRegex(result.stdout, r"^127\.0\.0\.1:[1-9]\d* mdist-[0-9a-f]{8}\n")

    def test_the_launcher_serves_the_store_from_before_the_first_worker(self):
        connect = "import os, socket; host, port = os.environ['MDIST_STORE'].split(':'); " \
                  "socket.create_connection((host, int(port))).close(); print(os.environ['MDIST_STORE_OWNER'])"
        result = launch("-n", "1", "--", PYTHON, "-c", connect)
        self.assertEqual(result.stdout, "[0] launcher\n", result.stderr)

    def test_a_store_that_is_taken_is_named(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            result = launch("-n", "1", "--store", address, "--", "true")
        self.assertEnds(result, 1)
        self.assertIn(address, result.stderr)

    def test_launchers_of_several_nodes_make_one_job(self):
        shown = [launch("--per-node", "2", "--nodes", "2", "--node-rank", node, "--store", "10.0.0.1:4400", "--dry-run",
                        "--", "true").stdout for node in "01"]
        lines = [line for text in shown for line in text.splitlines() if not line.startswith("#")]
        for rank, (node, local) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)]):
            for word in (f"MDIST_RANK={rank}", "MDIST_SIZE=4", f"MDIST_LOCAL_RANK={local}", "MDIST_LOCAL_SIZE=2",
                         f"MDIST_NODE_RANK={node}", "MDIST_NODES=2", "MDIST_STORE=10.0.0.1:4400",
                         "MDIST_STORE_OWNER=launcher", "MDIST_JOB_ID=mdist-10.0.0.1:4400"):
                self.assertIn(word, lines[rank].split())
        self.assertEqual(len(lines), 4)

    def test_math_libraries_share_the_cpus_unless_told_otherwise(self):
        show = 'echo "$OMP_NUM_THREADS $OPENBLAS_NUM_THREADS"'
        cpus = len(launch("-n", "auto", *shell("echo")).stdout.splitlines())
        self.assertEqual(launch("-n", "1", *shell(show)).stdout, f"[0] {cpus} {cpus}\n")
        self.assertEqual(launch("-n", "1", *shell(show), env={"OMP_NUM_THREADS": "7"}).stdout, f"[0] 7 {cpus}\n")
        self.assertEqual(launch("-n", "1", "--env", "OPENBLAS_NUM_THREADS=5", *shell(show)).stdout, f"[0] {cpus} 5\n")

    def test_all_workers_have_one_secret_for_this_user_alone(self):
        show = 'stat -c "%a %F" "$MDIST_SECRET_FILE" && cat "$MDIST_SECRET_FILE" && echo "$MDIST_SECRET_FILE"'
        result = launch("-n", "2", "--no-prefix", "--log-dir", str(self.folder), *shell(show))
        if result.returncode and "No such file" in result.stderr:
            self.skipTest("this library has no secrets")
        first, second = ((self.folder / f"rank-{rank}.stdout").read_text() for rank in "01")
        self.assertEqual(first, second)
        self.assertRegex(first, r"^600 regular file\n[0-9a-f]{64}\n")
        self.assertFalse(os.path.exists(first.splitlines()[-1]), "it is gone when the job is")

    def test_a_secret_can_be_brought_along(self):
        secret = self.folder / "secret"
        mine = "mine, of 32 bytes or even more ..."
        secret.write_text(mine + "\n")
        show = 'cat "$MDIST_SECRET_FILE"'
        result = launch("-n", "1", "--secret-file", str(secret), *shell(show))
        if "not_built" in result.stderr or "libsodium" in result.stderr:
            self.skipTest("this library has no secrets")
        self.assertEqual(result.stdout, f"[0] {mine}\n", result.stderr)
        self.assertEqual(launch("-n", "1", *shell(show), env={"MDIST_SECRET_FILE": str(secret)}).stdout, f"[0] {mine}\n")
        bare = launch("-n", "1", "--no-secret", *shell('echo "$MDIST_SECRET_FILE"'), env={"MDIST_SECRET_FILE": "x"})
        self.assertEqual(bare.stdout, "[0] \n")
        secret.write_text("hunter2\n")
        short = launch("-n", "1", "--secret-file", str(secret), *shell("echo ran"))
        self.assertNotEqual(short.returncode, 0)
        self.assertEqual(short.stdout, "")
        self.assertIn(f"mdist secret {secret} --force", short.stderr)

    def test_the_tool_writes_secrets(self):
        def tool(*arguments):
            return subprocess.run([MDIST, "secret", *arguments], capture_output=True, text=True, timeout=60)
        file = self.folder / "made"
        self.assertEqual(tool(str(file)).returncode, 0)
        first = file.read_text()
        self.assertRegex(first, r"^[0-9a-f]{64}\n$")
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        again = tool(str(file))
        self.assertEqual(again.returncode, 1)
        self.assertIn("--force", again.stderr)
        self.assertEqual(file.read_text(), first)
        file.chmod(0o644)
        self.assertEqual(tool(str(file), "--force").returncode, 0)
        self.assertNotEqual(file.read_text(), first)
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        self.assertEqual(tool(str(self.folder / "none" / "made")).returncode, 1)
        self.assertRegex(tool().stdout, r"^[0-9a-f]{64}\n$")

    def test_env_sets_variables(self):
        result = launch("-n", "1", "--env", "A=1", "--env", "B=x=y z", *shell('echo "$A,$B"'))
        self.assertEqual(result.stdout, "[0] 1,x=y z\n")

    def test_only_rank_0_reads_stdin(self):
        result = launch("-n", "2", *shell("cat"), given="from outside\n")
        self.assertEqual(result.stdout, "[0] from outside\n")
        self.assertEqual(launch("-n", "2", "--no-input", *shell("cat"), given="from outside\n").stdout, "")

    def test_what_is_behind_the_mark_is_the_programs(self):
        result = launch("-n", "1", "--", "echo", "-n", "--help", "--", "x y")
        self.assertEqual(result.stdout, "[0] --help -- x y\n")


class Output(Case):
    def test_lines_of_many_writers_stay_whole(self):
        worker = self.script("worker.py", f"""#!{PYTHON}
import os
for line in range(300):
    for piece in (f"line {{line}} ", "of rank ", os.environ["MDIST_RANK"] * 50, "\\n"):
        os.write(1, piece.encode())
""")
        result = launch("-n", "4", "--", worker)
        self.assertEnds(result, 0)
        lines = result.stdout.splitlines()
        for rank in "0123":
            self.assertEqual([line for line in lines if line.startswith(f"[{rank}] ")],
                             [f"[{rank}] line {line} of rank {rank * 50}" for line in range(300)])
        self.assertEqual(len(lines), 1200)

    def test_streams_stay_apart(self):
        result = launch("-n", "2", *shell("echo out; echo err >&2"))
        self.assertEqual(sorted(result.stdout.splitlines()), ["[0] out", "[1] out"])
        self.assertEqual(sorted(result.stderr.splitlines()), ["[0] err", "[1] err"])

    def test_a_last_line_without_newline_gets_one(self):
        self.assertEqual(launch("-n", "1", *shell("printf 'a\\n\\nb'")).stdout, "[0] a\n[0] \n[0] b\n")

    def test_any_byte_passes(self):
        every = bytes(range(256)) * 50
        (self.folder / "bytes").write_bytes(every)
        result = launch("-n", "1", "--no-prefix", "--", "cat", str(self.folder / "bytes"), text=False)
        self.assertEqual(result.stdout, every + b"\n")

    def test_a_long_line_is_cut_only_past_a_mebibyte(self):
        result = launch("-n", "1", "--", PYTHON, "-c", "print('x' * 900000); print('y' * 5000000)")
        self.assertEqual(result.stdout.replace("\n[0] y", "y"), f"[0] {'x' * 900000}{'y' * 5000000}\n")
        self.assertEqual(result.stdout.splitlines()[0], "[0] " + "x" * 900000)

    def test_timestamps_stand_before_the_rank(self):
        result = launch("-n", "1", "--timestamps", *shell("echo hello"))
        self.assertRegex(result.stdout, r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \[0\] hello\n$")

    def test_quiet_ranks_are_not_shown(self):
        def shown(ranks):
            lines = launch("-n", "5", "--quiet-ranks", ranks, *shell("echo hello")).stdout.splitlines()
            return sorted(int(line[1]) for line in lines)
        self.assertEqual(shown("1-"), [0])
        self.assertEqual(shown("0,2-3"), [1, 4])
        self.assertEqual(shown("7"), [0, 1, 2, 3, 4])

    def test_log_files_have_what_was_written_and_no_more(self):
        logs = self.folder / "a" / "logs"
        result = launch("-n", "2", "--log-dir", str(logs), "--quiet-ranks", "0-",
                        *shell('printf "out $MDIST_RANK\\nno newline"; echo err >&2'))
        self.assertEnds(result, 0)
        self.assertEqual((result.stdout, result.stderr), ("", ""))
        self.assertEqual({path.name: path.read_text() for path in logs.iterdir()},
                         {"rank-0.stdout": "out 0\nno newline", "rank-0.stderr": "err\n",
                          "rank-1.stdout": "out 1\nno newline", "rank-1.stderr": "err\n"})

    def test_colours_are_for_terminals(self):
        self.assertEqual(launch("-n", "1", *shell("echo hello"), env={"TERM": "xterm"}).stdout, "[0] hello\n")
        ours, theirs = pty.openpty()
        for variables, expected in (({"TERM": "xterm"}, b"\x1b[31m[0]\x1b[0m hello\r\n"),
                                    ({"TERM": "dumb"}, b"[0] hello\r\n"),
                                    ({"TERM": "xterm", "NO_COLOR": "1"}, b"[0] hello\r\n")):
            subprocess.run([MDIST, "launch", "-n", "1", *shell("echo hello")], env=environment(**variables),
                           stdin=subprocess.DEVNULL, stdout=theirs, check=True)
            self.assertEqual(os.read(ours, 100), expected)
        os.close(ours)
        os.close(theirs)

    def gate(self, name="gate"):
        """Makes a named pipe at which a worker's `read` waits, and what lets it go on. The pipe stays open here: if it were
        closed after a line, the next `read` would end, too, if it has begun by then."""
        path = self.folder / name
        os.mkfifo(path)
        descriptor = os.open(path, os.O_RDWR)
        self.addCleanup(os.close, descriptor)
        return str(path), lambda: os.write(descriptor, b"\n")

    def test_progress_bars_and_prompts_come_at_once(self):
        gate, go_on = self.gate()
        script = 'printf "10%%\\r"; read -r x <"$1"; printf "20%%\\r\\nname? "; read -r x <"$1"; echo mine'
        with Running("-n", "1", *shell(script, gate)) as job:
            self.assertEqual(job.read_until(b"\r"), b"[0] 10%\r")
            go_on()
            self.assertEqual(job.read_until(b"? "), b"[0] 20%\r\n[0] name? ")
            go_on()
            self.assertEqual(job.read_until(b"\n"), b"mine\n")
            self.assertEqual(job.end(), 0, job.errors)

    def test_progress_bars_of_several_ranks_do_not_cut_lines(self):
        go_on = [self.gate(name)[1] for name in "01"]
        script = 'read -r x <"$1/$MDIST_RANK"; printf "10%%\\r"; read -r x <"$1/$MDIST_RANK"; printf "done\\n"'
        with Running("-n", "2", *shell(script, str(self.folder))) as job:
            for rank in (0, 1):
                go_on[rank]()
                self.assertEqual(job.read_until(b"\r"), (b"[0] 10%\r", b"\n[1] 10%\r")[rank])
            for rank in (0, 1):
                go_on[rank]()
                self.assertEqual(job.read_until(b"e\n"), (b"\n[0] done\n", b"[1] done\n")[rank])
            self.assertEqual(job.end(), 0, job.errors)

    def test_on_a_terminal_another_line_takes_the_place_of_a_progress_bar(self):
        gate, go_on = self.gate()
        ours, theirs = pty.openpty()
        script = 'case $MDIST_RANK in 0) printf "\\r10%%"; sleep 1000 ;; *) read -r x <"$1"; echo hello; sleep 1000 ;; esac'
        job = subprocess.Popen([MDIST, "launch", "-n", "2", *shell(script, gate)],
                               env=environment(TERM="xterm", NO_COLOR="1"), stdin=subprocess.DEVNULL, stdout=theirs,
                               stderr=subprocess.DEVNULL)
        os.close(theirs)
        shown = b""
        while not shown.endswith(b"\r[0] 10%"):
            shown += os.read(ours, 1)
        go_on()
        while not shown.endswith(b"hello"):
            shown += os.read(ours, 1)
        self.assertEqual(shown, b"\r[0] 10%\r\x1b[K[1] hello")
        job.terminate()
        self.assertEqual(job.wait(60), 128 + signal.SIGTERM)
        os.close(ours)

    def test_a_job_goes_on_when_nobody_reads_its_output(self):
        reader, writer = os.pipe()
        os.close(reader)
        mark = self.folder / "mark"
        process = subprocess.run([MDIST, "launch", "-n", "1", *shell('seq 100000 && echo done >"$1"', str(mark))],
                                 env=environment(), stdin=subprocess.DEVNULL, stdout=writer, timeout=60)
        os.close(writer)
        self.assertEqual((process.returncode, mark.read_text()), (0, "done\n"))


class End(Case):
    def test_all_well_is_0_and_says_nothing(self):
        result = launch("-n", "3", "--", "true")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_the_first_failing_rank_gives_the_exit_status(self):
        # Rank 2 holds the pipe open, so the others notice when it has failed, as workers of the library do.
        lifeline = Lifeline(self.folder)
        script = '[ "$MDIST_RANK" = 2 ] && exit 42; read -r line <"$1"; exit 7'
        os.close(lifeline.reader)
        gate = os.open(lifeline.path, os.O_RDWR)
        with Running("-n", "3", "--grace", "1000", *shell(script, lifeline.path)) as job:
            job.errors_until("rank 2 failed (exit code 42); the others have 1000 s to end\n")
            os.write(gate, b"go\ngo\n")
            self.assertEqual(job.end(), 42)
        os.close(gate)
        self.assertIn("3 of 3 workers failed", job.errors)
        self.assertRegex(job.errors, r"(?m)^ +2  localhost +\d+ +\d+\.\d  exit code 42  <- first failure$")
        self.assertEqual(len(re.findall(r"(?m)exit code 7$", job.errors)), 2)

    def test_a_signal_that_ends_a_worker_gives_128_more(self):
        result = launch("-n", "1", *shell("kill -SEGV $$"))
        self.assertEnds(result, 128 + signal.SIGSEGV)
        self.assertRegex(result.stderr, r"killed by SIGSEGV.*<- first failure")

    def test_the_summary_quotes_the_last_words_of_who_failed(self):
        result = launch("-n", "2", "--quiet-ranks", "0-", "--grace", "0.1",
                        *shell('[ "$MDIST_RANK" = 0 ] && exec sleep 1000; seq 7 >&2; exit 3'))
        self.assertEnds(result, 3)
        self.assertIn("  last lines of rank 1 on stderr:\n    3\n    4\n    5\n    6\n    7\n", result.stderr)
        self.assertNotIn("rank 0 said", result.stderr)

    @in_time(1)
    def test_who_does_not_follow_a_failure_is_ended(self, limit_s):
        result = launch("-n", "2", "--grace", str(limit_s), *shell('[ "$MDIST_RANK" = 0 ] && exit 3; exec sleep 1000'))
        self.assertEnds(result, 3)
        if "killed by SIGKILL" in result.stderr:  # it did not end by SIGTERM in time
            raise Late(result.stderr)
        self.assertRegex(result.stderr, r"(?m)^ +1 .* killed by SIGTERM  \(after the launcher's SIGTERM\)$")

    def test_who_does_not_hear_sigterm_is_killed(self):
        # Rank 0 fails only once rank 1 ignores the signal.
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        script = '[ "$MDIST_RANK" = 0 ] && read -r line <"$1" && exit 3; trap "" TERM; echo >"$1"; sleep 1000; sleep 1000'
        result = launch("-n", "2", "--grace", "0.1", *shell(script, str(fifo)))
        self.assertEnds(result, 3)
        self.assertRegex(result.stderr, r"(?m)^ +1 .* killed by SIGKILL  \(after the launcher's SIGKILL\)$")

    def test_timeout_is_124(self):
        result = launch("-n", "2", "--timeout", "0.2", "--", "sleep", "1000")
        self.assertEnds(result, 124)
        self.assertIn("the job reached its time limit of 0.2 s (--timeout)", result.stderr)

    def test_a_program_that_is_not_there_is_127_and_one_that_cannot_run_126(self):
        result = launch("-n", "2", "--", "no-such-program-here")
        self.assertEnds(result, 127)
        self.assertEqual(result.stderr, "mdist: cannot run no-such-program-here: No such file or directory\n")
        result = launch("-n", "2", "--", str(self.folder))
        self.assertEnds(result, 126)
        self.assertIn("Permission denied", result.stderr)

    def test_a_script_that_cannot_run_says_why(self):
        for first_line, sentence in (
                (b"#!/bin/sh\r\n", "(its first line ends as in Windows, with CR LF: there is no /bin/sh\\r): No such file"),
                (b"#!/no/such/shell\n", "(its first line names /no/such/shell, which is not there): No such file")):
            script = self.folder / "script"
            script.write_bytes(first_line)
            script.chmod(0o700)
            result = launch("-n", "1", "--", str(script))
            self.assertEnds(result, 127)
            self.assertIn(sentence, result.stderr)

    def test_a_lack_of_descriptors_is_told_with_the_limit(self):
        limited = ["sh", "-c", 'ulimit -n 30; exec "$@"', "sh"]
        result = subprocess.run([*limited, MDIST, "launch", "-n", "16", "--", "true"], env=environment(),
                                capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(result.returncode, 1)
        self.assertIn("(the launcher may have 30 files open; see ulimit -n): Too many open files", result.stderr)

    def test_equal_last_words_are_quoted_once(self):
        result = launch("-n", "4", "--quiet-ranks", "0-", "--grace", "1000",
                        *shell('echo "$((MDIST_RANK == 2))" >&2; exit 3'))
        self.assertEnds(result, 3)
        self.assertIn("  last lines of each of ranks 0-1,3 on stderr:\n    0\n", result.stderr)
        self.assertIn("  last lines of rank 2 on stderr:\n    1\n", result.stderr)

    def test_what_workers_leave_running_ends_with_the_job(self):
        lifeline = Lifeline(self.folder)
        script = 'exec 9>"$1"; sleep 1000 & (trap "" TERM; sleep 1000; sleep 1000) & exit 0'
        result = launch("-n", "2", "--grace", "0.1", *shell(script, lifeline.path))
        self.assertEnds(result, 0)
        lifeline.at_end()

    def test_grandchildren_end_with_a_worker_that_is_killed(self):
        lifeline = Lifeline(self.folder)
        script = '[ "$MDIST_RANK" = 1 ] && exit 3; exec 9>"$1"; trap "" TERM; sh -c "sh -c \\"sleep 1000; :\\"; :"; :'
        self.assertEnds(launch("-n", "2", "--grace", "0.1", *shell(script, lifeline.path)), 3)
        lifeline.at_end()

    def test_workers_end_when_the_launcher_is_killed(self):
        lifeline = Lifeline(self.folder)
        with Running("-n", "2", *shell('exec 9>"$1"; echo up; exec sleep 1000', lifeline.path)) as job:
            self.assertEqual(job.lines(2), ["[0] up", "[1] up"])
            job.send(signal.SIGKILL)
            lifeline.at_end()


class Signals(Case):
    def test_signals_reach_every_worker(self):
        for name in ("INT", "TERM", "HUP", "QUIT", "USR1", "USR2"):
            with self.subTest(name), Running("-n", "2", *hears(name)) as job:
                job.lines(2)
                job.send(getattr(signal, "SIG" + name))
                self.assertEqual(job.end(), 0, job.errors)
                self.assertEqual(sorted(job.output.splitlines()), [f"[0] got {name}", f"[1] got {name}"])

    def test_workers_that_a_signal_ends_make_it_128_more(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
            with self.subTest(number), Running("-n", "2", *shell(WAITING)) as job:
                job.lines(2)
                job.send(number)
                self.assertEqual(job.end(), 128 + number, job.errors)

    def test_signals_reach_grandchildren(self):
        # The shell between them waits until its child has ended, signals or not.
        script = '"$@" & trap : USR1; while ! wait $!; do :; done'
        with Running("-n", "1", *shell(script, *hears("USR1")[1:])) as job:
            self.assertEqual(job.lines(1), ["[0] up"])
            job.send(signal.SIGUSR1)
            self.assertEqual(job.end(), 0, job.errors)
            self.assertEqual(job.output, "[0] got USR1\n")

    def test_the_second_interrupt_kills(self):
        with Running("-n", "2", "--grace", "1000", *shell('trap "" INT TERM; ' + WAITING)) as job:
            job.lines(2)
            job.send(signal.SIGINT)
            job.errors_until("SIGINT was passed on to the workers; another one at least 1 s later kills them\n")
            self.assertEqual(job.send_until_end(signal.SIGINT), 128 + signal.SIGINT)
            self.assertIn("killed by SIGKILL", job.errors)

    def test_who_does_not_hear_an_interrupt_is_killed_after_the_grace(self):
        with Running("-n", "1", "--grace", "0.1", *shell('trap "" INT TERM; ' + WAITING)) as job:
            job.lines(1)
            job.send(signal.SIGINT)
            self.assertEqual(job.end(), 128 + signal.SIGINT)


    def test_a_signal_that_the_launcher_was_started_to_ignore_is_ignored(self):
        with Running("-n", "1", *shell(WAITING), wrapper=["nohup"]) as job:
            job.lines(1)
            job.send(signal.SIGHUP)
            job.send(signal.SIGUSR1)
            self.assertEqual(job.end(), 128 + signal.SIGUSR1)
            self.assertNotIn("SIGHUP", job.errors)


class Restarts(Case):
    def test_a_failed_job_starts_again_as_a_whole(self):
        script = 'echo "start $MDIST_RESTART"; [ "$MDIST_RESTART" = 1 ] && exit 0; exit 5'
        result = launch("-n", "2", "--max-restarts", "3", "--log-dir", str(self.folder), *shell(script))
        self.assertEnds(result, 0)
        self.assertEqual(sorted(result.stdout.splitlines()),
                         ["[0] start 0", "[0] start 1", "[1] start 0", "[1] start 1"])
        self.assertIn("restart 1 of 3", result.stderr)
        self.assertEqual((self.folder / "rank-0.stdout").read_text(), "start 0\n")
        self.assertEqual((self.folder / "rank-1.restart-1.stdout").read_text(), "start 1\n")

    def test_when_restarts_are_used_up_the_last_failure_counts(self):
        result = launch("-n", "1", "--max-restarts", "1", *shell("exit $((5 + MDIST_RESTART))"))
        self.assertEnds(result, 6)

    def test_an_interrupted_job_does_not_start_again(self):
        with Running("-n", "1", "--max-restarts", "3", *shell(WAITING)) as job:
            job.lines(1)
            job.send(signal.SIGTERM)
            self.assertEqual(job.end(), 128 + signal.SIGTERM)
            self.assertNotIn("restart", job.errors)

    def test_an_interrupt_ends_the_wait_for_a_restart(self):
        with Running("-n", "1", "--max-restarts", "1000", "--", "false") as job:
            job.errors_until("restart 2 of 1000\n")
            job.send(signal.SIGINT)
            self.assertEqual(job.end(), 128 + signal.SIGINT)


class DryRun(Case):
    def test_prints_what_a_shell_can_run_and_runs_nothing(self):
        mark = self.folder / "it's here"
        result = launch("-n", "2", "--dry-run", "--env", "A=b c", *shell('touch "$1"; echo "$MDIST_RANK $A"', str(mark)))
        self.assertEnds(result, 0)
        self.assertFalse(mark.exists())
        lines = [line for line in result.stdout.splitlines() if not line.startswith("#")]
        self.assertEqual(len(lines), 2)
        self.assertIn("OMP_NUM_THREADS=", lines[1])
        again = subprocess.run(["sh", "-c", lines[1]], capture_output=True, text=True, check=True)
        self.assertEqual(again.stdout, "1 b c\n")
        self.assertTrue(mark.exists())

    def test_asks_no_name_service(self):
        result = launch("--dry-run", "--hosts", "no-such-host.invalid:2", "--", "true")
        self.assertEnds(result, 0)
        self.assertIn("# 2 workers on 1 node, ", result.stdout)
        self.assertEqual(result.stdout.count("no-such-host.invalid"), 4)


class CommandLine(Case):
    def test_what_makes_no_sense_is_refused_with_a_sentence(self):
        for arguments, sentence in (
                (["-n", "2"], "no program given"),
                (["--", "true"], "give the number of workers"),
                (["-n", "0", "--", "true"], "at least one worker"),
                (["-n", "many", "--", "true"], '"many" is not a number'),
                (["-n", "99999", "--", "true"], "is not a number from 0 to 4096"),
                (["-n", "3", "--nodes", "2", "--store", "a:1", "--", "true"], "cannot be divided evenly among 2 nodes"),
                (["--per-node", "1", "--nodes", "2", "--node-rank", "2", "--", "true"], "counted from 0"),
                (["--per-node", "1", "--nodes", "2", "--", "true"], "--store HOST:PORT"),
                (["--per-node", "1", "--nodes", "2", "--store", "a:0", "--", "true"], "must know it"),
                (["-n", "1", "--store", "nonsense", "--", "true"], '"nonsense" is not a valid address'),
                (["-n", "1", "--per-node", "1", "--", "true"], "give the number of workers"),
                (["--hosts", "a:0", "--", "true"], '"a:0" is not a valid host'),
                (["--hosts", "alpha slots=2", "--", "true"], '"alpha slots=2" is not a valid host'),
                (["--hosts", "alpha\nbeta", "--", "true"], "write alpha:2,beta:2"),
                (["--hosts", "-oProxyCommand=x", "--", "true"], "is not a valid host"),
                (["--hosts", "a:1", "--nodes", "2", "--", "true"], "leave out"),
                (["--hosts", "localhost:1", "-n", "2", "--", "true"], "has room for 1 worker\n"),
                (["-n", "1", "--env", "=x", "--", "true"], "write NAME=VALUE"),
                (["-n", "1", "--quiet-ranks", "3-1", "--", "true"], "ends before it begins"),
                (["-n", "1", "--grace", "-1", "--", "true"], "--grace"),
                (["-n", "1", "--frobnicate", "--", "true"], "--frobnicate"),
                (["-n", "1", "--frobnicate", "true"], "--frobnicate")):
            result = launch(*arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertIn(sentence, result.stderr)
            self.assertEqual(result.stdout, "")

    def test_the_mark_before_the_program_may_be_left_out(self):
        for options in (["-n", "1"], ["-np", "1"], ["-n1"], ["--workers=1"], ["--no-input", "-n", "1", "--env", "A=b"]):
            result = launch(*options, "echo", "-n", "2", "--", "--help")
            self.assertEqual(result.stdout, "[0] 2 -- --help\n", result.stderr)

    def test_help_names_every_option(self):
        text = launch("--help").stdout
        for option in ("--workers", "--per-node", "--nodes", "--node-rank", "--hosts", "--hostfile", "--rsh", "--store", "--job",
                       "--secret-file", "--no-secret", "--env", "--no-input", "--dry-run", "--log-dir", "--timestamps",
                       "--no-prefix", "--quiet-ranks", "--timeout", "--grace", "--max-restarts", "[--] PROGRAM"):
            self.assertIn(option, text)


if __name__ == "__main__":
    run_all(__name__)

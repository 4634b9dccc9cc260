#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`mdist store` brings workers together that nobody has launched. Usage: store_command_test.py MDIST"""
import signal
import subprocess

from launch_support import MDIST, PATIENCE_S, Case, environment, hear_all, run_all
from time_limits import Late, in_time
from workers import start


class Store:
    """A store that runs beside the test. Its variables come from its own stdout."""

    def __init__(self, *arguments, lines=2, **variables):
        self.process = start(MDIST, "store", *arguments, errors=subprocess.PIPE, before=hear_all, **variables)
        said = [self.process.stdout.readline() for _ in range(lines)]
        self.variables = dict(line.strip().split("=", 1) for line in said if "=" in line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def end(self, number):
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, out, err

    def worker(self, rank, size=2, **others):
        return start(MDIST, "check", "--join", **{**self.variables, "MDIST_RANK": str(rank), "MDIST_SIZE": str(size), **others})


def ends(workers):
    said = [worker.communicate(timeout=PATIENCE_S)[0] for worker in workers]
    return [worker.returncode for worker in workers], "\n".join(said)


class ServingAStore(Case):
    def test_workers_meet_there_one_job_after_another(self):
        with Store("127.0.0.1:0", "-n", "2", "--job", "mine", "--no-secret", lines=3) as store:
            self.assertEqual(store.variables["MDIST_STORE_OWNER"], "launcher")
            self.assertEqual(store.variables["MDIST_JOB_ID"], "mine")
            self.assertRegex(store.variables["MDIST_STORE"], r"^127\.0\.0\.1:[1-9]\d*$")
            for _ in range(2):
                codes, said = ends([store.worker(0), store.worker(1)])
                self.assertEqual(codes, [0, 0], said)
            code, _, words = store.end(signal.SIGTERM)
        self.assertEqual(code, 0, words)
        self.assertIn("mdist store: 0 of 2 workers have joined; missing: 0, 1", words)
        self.assertNotIn("there is no secret", words)

    def test_a_worker_of_another_job_is_refused(self):
        with Store("127.0.0.1:0", "-n", "2", "--no-secret", lines=3, MDIST_JOB_ID="mine") as store:
            codes, said = ends([store.worker(0, MDIST_JOB_ID="another")])
            self.assertNotEqual(codes, [0])
            self.assertIn('belongs to the job "another", the store to another one', said)
            codes, said = ends([store.worker(0, MDIST_JOB_ID="")])
            self.assertNotEqual(codes, [0])
            self.assertIn("belongs to a job without a name, the store to another one", said)
            self.assertEqual(store.end(signal.SIGINT)[0], 0)

    def test_a_secret_keeps_others_out(self):
        secret, other = str(self.folder / "secret"), str(self.folder / "other")
        for file in (secret, other):
            subprocess.run([MDIST, "secret", file], check=True, timeout=PATIENCE_S)
        with Store("127.0.0.1:0", "-n", "2", "--secret-file", secret, lines=3) as store:
            if store.process.poll() is not None:
                self.skipTest("this library has no secrets")
            self.assertEqual(store.variables["MDIST_SECRET_FILE"], secret)
            for wrong in (other, ""):
                codes, said = ends([store.worker(1, MDIST_SECRET_FILE=wrong)])
                self.assertNotEqual(codes, [0], said)
                self.assertIn("secret", said)
            codes, said = ends([store.worker(0), store.worker(1)])
            self.assertEqual(codes, [0, 0], said)
            words = store.end(signal.SIGTERM)[2]
        self.assertIn("has a different secret from that of worker 1 at 127.0.0.1", words)
        self.assertIn("worker 1 at 127.0.0.1 has no secret, but the store has one", words)

    @in_time(2)
    def test_the_chief_names_a_worker_that_has_no_secret_as_the_reason(self, limit_s):
        secret = str(self.folder / f"secret-{limit_s}")
        subprocess.run([MDIST, "secret", secret], check=True, timeout=PATIENCE_S)
        for chief, other, words in ((secret, "", "has no secret, but the store has one"),
                                    ("", secret, "has a secret, but the store has none")):
            with Store("127.0.0.1:0", "-n", "2", *(["--secret-file", secret] if chief else ["--no-secret"]),
                       lines=3 if chief else 2) as store:
                codes, said = ends([store.worker(1, MDIST_SECRET_FILE=other)])
                self.assertNotEqual(codes, [0], said)
                # Nobody else comes.
                codes, said = ends([store.worker(0, MDIST_SECRET_FILE=chief,
                                                 MDIST_COMMUNICATION_JOIN_TIMEOUT=f"{limit_s}s")])
                self.assertNotEqual(codes, [0], said)
                if "missing: 1" not in said:  # it had no time to hear from the store
                    raise Late(said)
                self.assertRegex(said, rf"missing: 1 \(refused: worker 1 at 127\.0\.0\.1 {words}")

    def test_it_says_what_is_wrong(self):
        def fails(*arguments):
            return subprocess.run([MDIST, "store", *arguments], env=environment(), capture_output=True, text=True,
                                  timeout=PATIENCE_S)
        self.assertEqual(fails("127.0.0.1:0").returncode, 2)
        self.assertEqual(fails("-n", "2").returncode, 2)
        self.assertEqual(fails("127.0.0.1:0", "-n", "0").returncode, 2)
        nowhere = fails("192.0.2.1:4400", "-n", "2", "--no-secret")
        self.assertEqual(nowhere.returncode, 1)
        self.assertIn("192.0.2.1", nowhere.stderr)
        missing = fails("127.0.0.1:0", "-n", "2", "--secret-file", str(self.folder / "none"))
        self.assertEqual(missing.returncode, 1)
        self.assertIn("none", missing.stderr)
        with Store("127.0.0.1:0", "-n", "1") as store:
            taken = fails(store.variables["MDIST_STORE"], "-n", "1", "--no-secret")
            self.assertEqual(taken.returncode, 1)
            self.assertIn(store.variables["MDIST_STORE"], taken.stderr)
            self.assertIn("there is no secret", store.end(signal.SIGHUP)[2])


if __name__ == "__main__":
    run_all(__name__)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`mdist check` finds what would keep a job from starting. Usage: check_test.py MDIST"""
import socket
import subprocess

from launch_support import MDIST, PATIENCE_S, Case, environment, launch, run_all
from time_limits import Late, in_time

# Addresses that nobody else uses, so that a port which was free stays free.
HERE, THERE = "127.0.0.77", "127.0.0.78"


def free_port(host):
    with socket.create_server((host, 0)) as server:
        return server.getsockname()[1]


class Check(Case):
    def check(self, text=None, arguments=(), **variables):
        arguments = [*arguments]
        if text is not None:
            arguments += ["--config", str(self.folder / "cluster.yaml")]
            (self.folder / "cluster.yaml").write_text(text)
        return subprocess.run([MDIST, "check", *arguments], env=environment(**variables), capture_output=True, text=True,
                              timeout=PATIENCE_S)

    def assertSays(self, result, code, pattern):
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        self.assertRegex(result.stdout, "(?m)^" + pattern)

    def two(self, own, other):
        """Of these workers the first is rank 0, and this one."""
        return f'cluster: {{worker: ["{own}", "{other}"]}}\ntask: {{type: worker, index: 0}}\n'

    def second_of_two(self, other, own):
        return f'cluster: {{worker: ["{other}", "{own}"]}}\ntask: {{type: worker, index: 1}}\n'

    def test_a_process_alone_has_nothing_to_fear(self):
        result = self.check()
        self.assertSays(result, 0, "ok +cluster +this process alone")
        self.assertNotIn("problem", result.stdout)

    def test_a_config_that_cannot_be_read_is_a_problem_with_its_place(self):
        self.assertSays(self.check("executor: fibers\n"), 1, r"problem +config .*cluster\.yaml:1:11: .*fibers")
        self.assertSays(self.check(MDIST_CONFIG="/no/such/file"), 1, "problem +config +MDIST_CONFIG: .*/no/such/file")

    def test_the_file_of_the_option_is_blamed_and_no_variable(self):
        for text in ("executor: fibers\n", "cluster: [\n", "xyzzy: 1\n"):
            result = self.check(text, MDIST_CONFIG="/no/such/file")
            self.assertSays(result, 1, rf"problem +config +{self.folder}/cluster\.yaml:\d+:\d+: ")
            self.assertNotIn("MDIST_CONFIG", result.stdout)
        result = self.check(arguments=["--config", "/no/such/file"])
        self.assertSays(result, 1, 'problem +config +cannot open the configuration file "/no/such/file"')

    def test_a_free_own_port_and_a_host_that_answers_are_well(self):
        own, other = f"{HERE}:{free_port(HERE)}", f"{THERE}:{free_port(THERE)}"
        result = self.check(self.two(own, other))
        self.assertSays(result, 0, f"ok +worker 0 +{own} is this machine's, and its port is free")
        self.assertSays(result, 0, f"ok +worker 1 +{other}: the host answers$")
        self.assertSays(self.check(self.second_of_two(other, own)), 0,
                        f"ok +worker 0 +{other}: the host answers; nothing listens at the port yet")

    def test_an_own_port_that_is_taken_is_a_problem(self):
        with socket.create_server((HERE, 0)) as taken:
            own = f"{HERE}:{taken.getsockname()[1]}"
            result = self.check(self.two(own, f"{THERE}:1"))
        self.assertSays(result, 1, f"problem +worker 0 +{own}: another process is already listening there; .*ss -ltnp")

    def test_only_the_port_of_rank_0_counts(self):
        with socket.create_server((HERE, 0)) as taken:
            own = f"{HERE}:{taken.getsockname()[1]}"
            result = self.check(self.second_of_two(f"{THERE}:{free_port(THERE)}", own))
        self.assertSays(result, 0, f"ok +worker 1 +{own} is this machine's$")

    def test_a_rank_0_that_listens_answers(self):
        with socket.create_server((THERE, 0)) as listening:
            other = f"{THERE}:{listening.getsockname()[1]}"
            result = self.check(self.second_of_two(other, f"{HERE}:{free_port(HERE)}"))
        self.assertSays(result, 0, f"ok +worker 0 +{other} answers")

    def test_an_own_address_of_another_machine_is_a_problem(self):
        result = self.check(self.two("198.51.100.254:4400", f"{THERE}:1"))
        self.assertSays(result, 1, r"problem +worker 0 +198\.51\.100\.254:4400 .* is not an address of this machine")

    def test_a_name_that_means_nothing_is_a_problem(self):
        result = self.check(self.two(f"{HERE}:{free_port(HERE)}", "a..b:4400"))
        self.assertSays(result, 1, r"problem +worker 1 +a\.\.b: .*; correct the name")

    def test_a_task_that_nobody_names_is_a_problem(self):
        result = self.check(f'cluster: {{worker: ["{THERE}:1", "198.51.100.254:1"]}}\n')
        self.assertEqual(result.returncode, 1, result.stdout)

    def test_sources_that_contradict_each_other_are_a_problem(self):
        result = self.check(self.two(f"{HERE}:1", f"{THERE}:1"), MDIST_SIZE="3", MDIST_RANK="0")
        self.assertSays(result, 1, "problem +cluster ")

    def test_a_secret_that_others_can_read_is_a_problem(self):
        path = self.folder / "secret"
        self.assertSays(self.check(MDIST_SECRET_FILE=str(path)), 1, "problem +secret .*No such file")
        path.write_text("0123456789abcdef" * 2)
        path.chmod(0o644)
        self.assertSays(self.check(MDIST_SECRET_FILE=str(path)), 1, "problem +secret .*can be read by others; chmod 600")
        path.chmod(0o600)
        self.assertSays(self.check(MDIST_SECRET_FILE=str(path)), 0, "ok +secret ")

    def test_a_secret_that_could_be_guessed_is_a_problem(self):
        path = self.folder / "secret"
        for words in ("", "hunter2\n", "0123456789abcdef" * 2 + "\n"):
            path.write_text(words)
            path.chmod(0o600)
            result = self.check(MDIST_SECRET_FILE=str(path))
            if len(words) > 32:
                self.assertSays(result, 0, "ok +secret ")
            else:
                self.assertSays(result, 1, f"problem +secret .*has {len(words.strip())} bytes.* mdist secret {path} --force")

    def test_workers_of_a_launcher_reach_its_store(self):
        result = launch("-n", "2", "--", MDIST, "check")
        self.assertEnds(result, 0)
        for rank in "01":
            self.assertRegex(result.stdout, rf"(?m)^\[{rank}\] ok +store +127\.0\.0\.1:\d+ answers$")

    def test_a_store_that_rank_0_is_to_serve_has_to_be_free(self):
        job = {"MDIST_SIZE": "2", "MDIST_RANK": "0", "MDIST_LOCAL_RANK": "0", "MDIST_LOCAL_SIZE": "2"}
        self.assertSays(self.check(**job, MDIST_STORE=f"{HERE}:{free_port(HERE)}"), 0, "ok +store .*its port is free")
        with socket.create_server((HERE, 0)) as taken:
            result = self.check(**job, MDIST_STORE=f"{HERE}:{taken.getsockname()[1]}")
        self.assertSays(result, 1, "problem +store .*another process is already listening there")

    def test_workers_that_check_together_form_a_group_and_sum(self):
        result = launch("-n", "3", "--", MDIST, "check", "--join", env={"MDIST_DEVICES": "cpu*2"})
        self.assertEnds(result, 0)
        for rank in "012":
            self.assertRegex(result.stdout, rf"(?m)^\[{rank}\] ok +join +3 workers with 6 replicas; this is worker {rank}")
            others = {"0": "1, 2", "1": "0, 2", "2": "0, 1"}[rank]
            self.assertRegex(result.stdout, rf"(?m)^\[{rank}\] ok +links +shared memory with workers {others} \(one host\)$")
            self.assertRegex(result.stdout, rf"(?m)^\[{rank}\] ok +sums +4 bytes in [\d.]+ us, 4 MiB in ")

    def test_links_that_the_configuration_chose_say_so(self):
        result = launch("-n", "2", "--no-prefix", "--", MDIST, "check", "--join",
                        env={"MDIST_DEVICES": "cpu", "MDIST_COMMUNICATION_IMPLEMENTATION": "tcp"})
        self.assertEnds(result, 0)
        self.assertRegex(result.stdout, r"(?m)^ok +links +tcp with worker 1 \(communication\.implementation: tcp\)$")

    @in_time(1)
    def test_a_worker_that_does_not_come_is_named(self, limit_s):
        job = {"MDIST_SIZE": "2", "MDIST_RANK": "0", "MDIST_LOCAL_RANK": "0", "MDIST_LOCAL_SIZE": "2"}
        result = self.check(f"communication: {{join_timeout: {limit_s}s}}\n", **job, MDIST_STORE=f"{HERE}:{free_port(HERE)}",
                            arguments=("--join",))
        if "could not be reached" in result.stdout:
            raise Late(result.stdout)
        self.assertSays(result, 1, r"problem +join .*missing: 1")


if __name__ == "__main__":
    run_all(__name__)

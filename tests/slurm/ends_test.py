#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs of fixed size that a real Slurm ends and starts again, and such that lose a host. Usage: ends_test.py SLURM_TRAINING,
in hosts.sh"""
import os
import re
import sys

from cluster import FOLDER, Job, SlurmTest, await_that, call, main, names_on, start

TRAINING = os.path.abspath(sys.argv[1])
STEP = 36  # what each step adds: the sum of 1 to 8, for two workers with four replicas each
STEPS = re.compile(r"^(restored|saved|done): (\d+) steps, sum (\d+)$", re.MULTILINE)


def srun(folder, *options):
    return ["srun", "-N2", "--ntasks-per-node=1", *options, TRAINING, str(folder)]


class Ends(SlurmTest):
    def begin(self, name, *options):
        """Starts a training with srun. Returns it after its first checkpoint."""
        training = start(*srun(FOLDER / name, *options), MDIST_DEVICES="cpu*4")
        self.read_until(training, "saved:")
        return training

    def submit(self, name, *options):
        """The same in a batch script."""
        first = " ".join(["#SBATCH -N2 --ntasks-per-node=1 --requeue", *options])
        job = Job(name, f"{first}\n{' '.join(srun(FOLDER / name))}\n", MDIST_DEVICES="cpu*4")
        job.await_words("saved:")
        return job

    def read_until(self, training, words, count=1):
        said = ""
        for line in training.stdout:
            said += line
            if said.count(words) == count and words in line:
                return said
        self.fail(f"no {words} in {said}")

    def steps(self, said):
        """[(what, steps)], after a check of the sums."""
        found = [(what, int(steps), int(total)) for what, steps, total in STEPS.findall(said)]
        for what, steps, total in found:
            self.assertEqual(total, steps * STEP, said)
        return [(what, steps) for what, steps, _ in found]

    def test_a_host_that_ends(self):
        """All other workers end with an error that names a worker of that host. srun waits for Slurm's word on the host."""
        training = self.begin("host", "--ntasks-per-node=2")
        self.crash_host(2)
        said = self.read_until(training, "MDIST_ERR_PEER_LOST", 2)
        self.assertEqual(len(re.findall(r"MDIST_ERR_PEER_LOST: worker [23] \(10\.78\.0\.2, pid \d+\) is lost", said)), 2, said)
        self.find_out(2)
        self.assertIn("Node failure on host2", training.communicate()[0])
        self.assertEqual(training.returncode, 1)

    def test_daemons_that_end(self):
        """Workers do not need slurmd or slurmstepd. Slurm ends the job when it misses them, and then no worker is left."""
        training = self.begin("daemons")
        self.crash_host(2, "slurmd", "slurmstepd")
        before = max(steps for _, steps in self.steps(self.read_until(training, "saved:")))
        after = max(steps for _, steps in self.steps(self.read_until(training, "saved:")))
        self.assertGreater(after, before)
        self.find_out(2)
        training.communicate()
        await_that(lambda: not names_on(2), "no process is left")

    def test_a_signal_to_a_job(self):
        job = self.submit("signal")
        call("scancel", "--signal=TERM", job.number)
        self.assertEqual(job.await_end(), "COMPLETED", job.said())
        self.assertEqual(self.steps(job.said())[-1][0], "saved")

    def test_a_time_limit(self):
        """SIGTERM comes before the limit with --signal, and at the limit without. Slurm looks at limits every 30 s."""
        for job in self.submit("early", "--time=1 --signal=TERM@55"), self.submit("late", "--time=1"):
            self.assertIn(job.await_end(), ("COMPLETED", "TIMEOUT"), job.said())
            self.assertEqual(self.steps(job.said())[-1][0], "saved")

    def check_goes_on(self, job):
        """Started again, it goes on from the last checkpoint."""
        self.assertEqual(job.await_end(), "COMPLETED", job.said())
        self.assertEqual(job.told("Restarts"), "1")
        steps = self.steps(job.said())
        at = next(i for i, (what, _) in enumerate(steps) if what == "restored")
        self.assertEqual(steps[at], ("restored", steps[at - 1][1]))
        self.assertEqual(steps[-1], ("done", steps[at][1] + 50))

    def test_a_job_that_is_requeued(self):
        job = self.submit("requeued")
        call("scontrol", "requeue", job.number)
        self.check_goes_on(job)

    def test_a_job_that_is_requeued_since_a_host_has_ended(self):
        job = self.submit("moved")
        self.crash_host(2)
        job.await_words("MDIST_ERR_PEER_LOST: worker 1 ")
        self.find_out(2)
        self.check_goes_on(job)


if __name__ == "__main__":
    main()

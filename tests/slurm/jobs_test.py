#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workers that a real Slurm starts find each other, without any configuration. Usage: jobs_test.py ALL_REDUCE LAUNCHED
LAUNCHERS_TEST, in hosts.sh"""
import json
import os
import re
import sys

from cluster import FOLDER, HOSTS, Job, SlurmTest, call, main, start

ALL_REDUCE, LAUNCHED, LAUNCHERS_TEST = (os.path.abspath(path) for path in sys.argv[1:4])
REPLICAS = 4  # of each worker


def sums(workers):
    """What 01_all_reduce prints in so many workers, in the order of replicas."""
    replicas = workers * REPLICAS
    return [(replica, replicas * (replicas + 1) // 2) for replica in range(replicas)]


def found(text):
    return sorted((int(replica), int(total)) for replica, total in re.findall(r"^replica (\d+): (\d+)$", text, re.MULTILINE))


def places(text):
    """What `launched` says of each worker, by rank."""
    return sorted((json.loads(line) for line in text.splitlines() if line.startswith("{")), key=lambda one: one["rank"])


class Jobs(SlurmTest):
    def test_workers_of_srun_sum(self):
        for hosts, workers in (1, 1), (1, 2), (2, 2), (2, 4), (4, 4), (4, 8), (2, 8):
            with self.subTest(hosts=hosts, workers=workers):
                self.assertEqual(found(call("srun", f"-N{hosts}", f"-n{workers}", ALL_REDUCE)), sums(workers))

    def test_hosts_with_different_numbers_of_workers(self):
        said = call("srun", "-N3", "-n5", "--distribution=cyclic", ALL_REDUCE)
        self.assertEqual(found(said), sums(5))

    def test_two_steps_of_one_job_at_the_same_time(self):
        job = Job("steps", f"#SBATCH -N2 -n4\nsrun -n2 -N2 --exact {ALL_REDUCE} &\nsrun -n2 -N2 --exact {ALL_REDUCE} &\nwait\n")
        self.assertEqual(job.await_end(), "COMPLETED", job.said())
        self.assertEqual(found(job.said()), sorted(sums(2) * 2), job.said())

    def test_a_batch_script(self):
        """The script itself has Slurm's variables, but is no worker; srun in it starts the workers."""
        job = Job("batch", f"#SBATCH -N2 -n4\n{LAUNCHED} 'found only'\nsrun {ALL_REDUCE}\n")
        self.assertEqual(job.await_end(), "COMPLETED", job.said())
        self.assertEqual([one["source"] for one in places(job.said())], ["single"])
        self.assertEqual(found(job.said()), sums(4), job.said())

    def test_a_job_of_an_array(self):
        job = Job("array", f"#SBATCH -N2 -n2\n#SBATCH --array=1-2\nsrun {ALL_REDUCE}\n")
        self.assertEqual(job.await_end(), "COMPLETED", job.said())
        self.assertEqual(found(job.said()), sorted(sums(2) * 2), job.said())

    def test_every_worker_knows_its_place(self):
        workers = places(call("srun", "-N2", "--ntasks-per-node=2", LAUNCHED))
        self.assertEqual([(one["source"], one["rank"], one["size"]) for one in workers],
                         [("slurm", rank, 4) for rank in range(4)])
        self.assertEqual(sorted((one["local_rank"], one["local_size"]) for one in workers), [(0, 2), (0, 2), (1, 2), (1, 2)])
        self.assertEqual([one["serves"] for one in workers], [1, 0, 0, 0])
        self.assertEqual(len({(one["store"], one["job"]) for one in workers}), 1)
        self.assertRegex(workers[0]["store"], r"^host\d:2\d{4}$")

    def test_a_first_host_whose_own_name_is_a_loopback_address(self):
        """Workers of other hosts find rank 0 by the name of its host; rank 0 itself must not take it."""
        together = ["srun", "-N1", "-n1", "-w", f"host{HOSTS}", ALL_REDUCE, ":", "-N1", "-n2", "-w", "host1", ALL_REDUCE]
        self.assertEqual(found(call(*together)), sums(3))

    def test_ranks_that_the_user_deals_out(self):
        file = FOLDER / "ranks"
        file.write_text("host2\nhost1\nhost2\n")
        dealt = {"SLURM_HOSTFILE": str(file)}
        refused = start("srun", "-n3", "--distribution=arbitrary", ALL_REDUCE, **dealt).communicate()[0]
        self.assertIn("pass MDIST_STORE=host:", refused)
        store = "host2:" + re.search(r"pass MDIST_STORE=host:(\d+) to all workers", refused)[1]
        said = call("srun", "-n3", "--distribution=arbitrary", ALL_REDUCE, MDIST_STORE=store, **dealt)
        self.assertEqual(found(said), sums(3))

    def check_together(self, said, sizes):
        """Heterogeneous components form one job, with ranks through all of them."""
        workers, count = places(said), sum(sizes)
        self.assertEqual([(one["source"], one["rank"], one["size"]) for one in workers],
                         [("slurm", rank, count) for rank in range(count)], said)
        self.assertEqual([(one["local_rank"], one["local_size"]) for one in workers],
                         [(place, size) for size in sizes for place in range(size)])
        self.assertEqual([one["serves"] for one in workers], [1] + [0] * (count - 1))
        self.assertEqual(len({(one["store"], one["job"]) for one in workers}), 1)

    def test_heterogeneous_jobs_of_srun(self):
        self.check_together(call("srun", "-N1", "-n1", LAUNCHED, ":", "-N1", "-n3", LAUNCHED), [1, 3])
        self.assertEqual(found(call("srun", "-N1", "-n1", ALL_REDUCE, ":", "-N1", "-n3", ALL_REDUCE)), sums(4))
        self.assertEqual(found(call("srun", "-N2", "-n2", ALL_REDUCE, ":", "-N1", "-n2", ALL_REDUCE, ":", "-N1", "-n1",
                                    ALL_REDUCE)), sums(5))

    def test_heterogeneous_steps_of_a_batch_script(self):
        """Slurm's list of all hosts begins with that of the second component."""
        job = Job("groups", f"""#SBATCH -N1 -n3 -w host3
#SBATCH hetjob
#SBATCH -N1 -n2 -w host2
srun --het-group=0,1 {LAUNCHED}
srun --het-group=0,1 {ALL_REDUCE}
srun {ALL_REDUCE}
srun --het-group=1 {ALL_REDUCE}
""")
        self.assertEqual(job.await_end(), "COMPLETED", job.said())
        self.check_together(job.said(), [3, 2])
        self.assertEqual(found(job.said()), sorted(sums(5) + sums(3) + sums(2)), job.said())

    def test_a_heterogeneous_step_of_one_allocation(self):
        """Slurm gives each component hosts of its own."""
        job = Job("components", f"""#SBATCH -N2 --ntasks-per-node=4
srun -N1 -n1 {LAUNCHED} : -N1 -n3 {LAUNCHED}
srun -N1 -n1 {ALL_REDUCE} : -N1 -n3 {ALL_REDUCE}
""")
        self.assertEqual(job.await_end(), "COMPLETED", job.said())
        self.check_together(job.said(), [1, 3])
        self.assertEqual(found(job.said()), sums(4), job.said())

    def test_what_all_launchers_must_do(self):
        call(sys.executable, LAUNCHERS_TEST, LAUNCHED, MDIST_TEST_SLURM="1")


if __name__ == "__main__":
    main()

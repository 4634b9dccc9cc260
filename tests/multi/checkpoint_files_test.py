# SPDX-License-Identifier: Apache-2.0
"""Checkpoints as files: reads them with an independent reader, and checks what is left if saving is cut short."""
import json
import os
import random
import signal
import struct
import subprocess
import sys
import zlib

from launch_support import PATIENCE_S, Case, environment, run_all
from seeds import is_long, test_seed

CHECKPOINTER = sys.argv[1]
TYPES = {"I32": 4}
CALLS = 16  # for files, about as many as one checkpoint takes


def run(*arguments, limit=None):
    """Runs the program. `limit` is the largest size of a file, in bytes."""
    limits = {} if limit is None else {"TEST_FILE_LIMIT": str(limit)}
    return subprocess.run([CHECKPOINTER, *map(str, arguments)], env={**environment(), **limits}, capture_output=True,
                          text=True, timeout=PATIENCE_S)


def read(path):
    """Returns the texts and tensors of a file. Reads it as the format's description says and checks all checksums."""
    content = path.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    assert (8 + length) % 64 == 0, "data are aligned"
    header = content[8:8 + length]
    data = content[8 + length:]
    tensors = json.loads(header)
    metadata = tensors.pop("__metadata__")
    crc = metadata.pop("mdist.crc32")
    assert metadata.pop("mdist.format") == "1"
    plain = header.replace(b'"mdist.crc32":"' + crc.encode(), b'"mdist.crc32":"00000000')
    assert int(crc, 16) == zlib.crc32(plain), "checksum of the header"
    out, end = {}, 0
    for name, tensor in sorted(tensors.items(), key=lambda item: item[1]["data_offsets"]):
        first, last = tensor["data_offsets"]
        elements = 1
        for dimension in tensor["shape"]:
            elements *= dimension
        assert first == end and last - first == elements * TYPES[tensor["dtype"]], "no gaps"
        end = last
        assert int(metadata.pop("mdist.crc32/" + name), 16) == zlib.crc32(data[first:last]), "checksum of a tensor"
        out[name] = struct.unpack_from(f"<{elements}i", data, first)
    assert end == len(data), "nothing behind the last tensor"
    return metadata, out


class Checkpoints(Case):
    def save(self, first, last, kilobytes=4, **options):
        return run("save", self.folder, first, last, kilobytes, **options)

    def restored(self, kilobytes=4):
        result = run("restore", self.folder, kilobytes)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout.strip()

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())

    def expect(self, *numbers):
        """Checks that these checkpoints, and nothing else, are there and complete."""
        self.assertEqual(self.names(), sorted([f"checkpoint-{n}.safetensors" for n in numbers] + ["checkpoints.json"]))
        for number in numbers:
            texts, tensors = read(self.folder / f"checkpoint-{number}.safetensors")
            self.assertEqual(texts, {"number": str(number)})
            self.assertEqual(set(tensors["w"]), {number})

    def test_another_reader_finds_the_tensors_and_texts(self):
        self.assertEqual(self.save(1, 3).stdout, "1\n2\n3\n")
        self.expect(2, 3)
        manifest = json.loads((self.folder / "checkpoints.json").read_text())
        self.assertEqual(manifest["numbers"][-1], 3)
        self.assertEqual(self.restored(), "3")

    def test_the_library_of_safetensors_reads_them(self):
        try:
            import safetensors
            from safetensors.numpy import load_file
        except ImportError:
            self.skipTest("safetensors or NumPy is not installed")
        self.save(1, 1)
        path = str(self.folder / "checkpoint-1.safetensors")
        self.assertTrue((load_file(path)["w"] == 1).all())
        with safetensors.safe_open(path, framework="numpy") as file:
            self.assertEqual(file.metadata()["number"], "1")

    def test_a_file_of_others_is_restored_without_checksums(self):
        header = json.dumps({"w": {"dtype": "I32", "shape": [256], "data_offsets": [0, 1024]},
                             "__metadata__": {"number": "7", "format": "np"}}).encode()
        data = struct.pack("<256i", *[7] * 256)
        (self.folder / "checkpoint-7.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + data)
        self.assertEqual(self.restored(1), "7")  # there is no list that does not name it
        self.assertEqual(self.save(8, 8, 1).stdout, "8\n")
        (self.folder / "checkpoint-8.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + data)
        result = run("restore", self.folder, 1)
        self.assertEqual(result.stdout, "checkpoint 8 is not what was saved\n")  # it holds 7

    def test_a_full_file_system_leaves_the_checkpoint_before(self):
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", self.folder], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("no file system can be mounted here")
        self.addCleanup(subprocess.run, ["umount", self.folder], check=True)
        self.assertEqual(self.save(1, 2, 100).stdout, "1\n2\n")
        result = self.save(3, 4, 100)
        self.assertEqual(result.returncode, 1)
        for line in result.stdout.splitlines():
            self.assertRegex(line, r'^MDIST_ERR_IO 28 cannot write ".*/\.checkpoint-[34]\.safetensors\.new": No space left')
        self.expect(1, 2)
        self.assertEqual(self.restored(100), "2")

    def test_a_limit_on_the_size_of_files_is_told_and_nothing_is_lost(self):
        self.save(1, 1, 8)
        for limit in range(0, (self.folder / "checkpoint-1.safetensors").stat().st_size, 700):
            result = self.save(2, 2, 8, limit=limit)
            self.assertEqual(result.returncode, 1, "no signal ends it")
            self.assertRegex(result.stdout, "^MDIST_ERR_IO 27 cannot write ")
            self.expect(1)
        self.assertEqual(self.restored(8), "1")

    def test_a_folder_that_cannot_be_written_is_told(self):
        self.save(1, 1)
        if os.geteuid() != 0:
            self.folder.chmod(0o500)
            self.addCleanup(self.folder.chmod, 0o700)
            self.assertRegex(self.save(2, 2).stdout, "^MDIST_ERR_IO 13 cannot create ")
        elif subprocess.run(["mount", "--bind", self.folder, self.folder], capture_output=True).returncode == 0:
            self.addCleanup(subprocess.run, ["umount", self.folder], check=True)
            subprocess.run(["mount", "-o", "remount,bind,ro", self.folder], check=True)
            self.assertRegex(self.save(2, 2).stdout, "^MDIST_ERR_IO 30 cannot create ")
        else:
            self.skipTest("root writes everywhere, and no file system can be mounted here")
        self.expect(1)

    def test_a_file_in_the_place_of_the_folder_is_told(self):
        (self.folder / "file").write_text("")
        result = run("save", self.folder / "file", 1, 1, 1)
        self.assertRegex(result.stdout, "^MDIST_ERR_IO 20 cannot save to ")
        result = run("save", self.folder / "file" / "below", 1, 1, 1)
        self.assertRegex(result.stdout, "^MDIST_ERR_IO 20 cannot create the folder ")
        result = run("save", self.folder / "not" / "yet" / "there", 1, 1, 1)
        self.assertEqual(result.stdout, "1\n")

    def test_a_kill_at_any_time_leaves_a_whole_checkpoint(self):
        chance = random.Random(test_seed(1))
        last = 0
        for _ in range(2000 if is_long() else 60):
            saver = subprocess.run([CHECKPOINTER, "save", self.folder, "0", "1000000", "64"], capture_output=True,
                                   env=environment(TEST_KILL_AT=str(chance.randrange(1, 4 * CALLS))), timeout=PATIENCE_S)
            self.assertEqual(saver.returncode, -signal.SIGKILL)
            said = saver.stdout.split()
            now = self.restored(64)
            now = 0 if now == "none" else int(now)
            # The checkpoint that was reported is there, or one more; never an older one than before.
            self.assertGreaterEqual(now, max([last, *map(int, said)]))
            self.assertLessEqual(now, max([last, *map(int, said)]) + 1)
            last = now
        self.assertGreater(last, 0, "some checkpoints were saved")
        print(f"# {last} checkpoints were saved")
        self.save(last + 1, last + 2, 64)
        # A kill in the first save of all may leave a checkpoint without a list. The list of a later save does not name it.
        (self.folder / "checkpoint-1.safetensors").unlink(missing_ok=True)
        self.expect(last + 1, last + 2)  # the other leftovers of the kills are gone


run_all(__name__)

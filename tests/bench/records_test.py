#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`mdist records` makes correct TFRecord files from IDX files. Training from them ends with the same bits as from memory.

Usage: records_test.py MDIST [FASHION_MNIST]"""
import gzip
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest

MDIST, TRAINING = sys.argv[1], sys.argv[2:]


def run(*command, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MDIST_", "TF_CONFIG"))}
    return subprocess.run(command, env={**clean, **environment}, capture_output=True, text=True)


def idx(items, *item_shape):
    """An IDX file of unsigned bytes."""
    shape = (len(items), *item_shape)
    return struct.pack(f">BBBB{len(shape)}I", 0, 0, 8, len(shape), *shape) + b"".join(items)


def masked_crc(data):
    """Bit by bit, as the polynomial says."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records_of(data):
    at, records = 0, []
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        record = data[at + 12 : at + 12 + length]
        assert struct.unpack_from("<I", data, at + 8)[0] == masked_crc(data[at : at + 8])
        assert struct.unpack_from("<I", data, at + 12 + length)[0] == masked_crc(record)
        records.append(record)
        at += 16 + length
    return records


class Folder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def write(self, name, data):
        (self.folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return str(self.folder / name)

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())

    def convert(self, images, labels, *options):
        return run(MDIST, "records", "--images", images, "--labels", labels, "--out", str(self.folder / "set"), *options)


class Records(Folder):
    images = [bytes(6 * i + k for k in range(6)) for i in range(7)]
    labels = [bytes([i]) for i in range(7)]
    pairs = [image + label for image, label in zip(images, labels)]

    def sources(self, end=""):
        return self.write("images" + end, idx(self.images, 2, 3)), self.write("labels" + end, idx(self.labels))

    def test_images_and_labels_go_to_shards_in_turns(self):
        for end in ("", ".gz"):
            result = self.convert(*self.sources(end), "--shards", "3")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("7 records of 7 bytes in 3 files", result.stdout)
            for shard in range(3):
                data = (self.folder / f"set-0000{shard}-of-00003.tfrecord").read_bytes()
                self.assertEqual(records_of(data), self.pairs[shard::3])

    def test_files_may_be_compressed(self):
        self.assertEqual(self.convert(*self.sources(), "--gzip").returncode, 0)
        data = gzip.decompress((self.folder / "set-00000-of-00001.tfrecord").read_bytes())
        self.assertEqual(records_of(data), self.pairs)

    def test_check_counts_and_finds_damage(self):
        for options in ((), ("--gzip",)):
            self.assertEqual(self.convert(*self.sources(), *options).returncode, 0)
            path = self.folder / "set-00000-of-00001.tfrecord"
            result = run(MDIST, "records", "--check", str(path))
            self.assertEqual((result.returncode, result.stdout), (0, f"{path}: 7 records, 49 bytes\n"))
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 1
            path.write_bytes(data)
            result = run(MDIST, "records", "--check", str(path), str(self.folder / "nothing"))
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertIn("set-00000-of-00001.tfrecord", result.stderr)
            self.assertIn("nothing", result.stderr)

    def test_sources_that_are_wrong_leave_nothing(self):
        images, labels = self.sources()
        whole = idx(self.images, 2, 3)
        wrong = {
            "text": (b"no such thing", "IDX file"),
            "empty": (b"", "IDX file"),
            "cut": (whole[:-1], "/cut"),
            "short": (whole[:-6], "ends before its last item"),
            "long": (whole + bytes(6), "continues after its last item"),
            "endless": (struct.pack(">BBBB3I", 0, 0, 8, 3, 7, 1 << 31, 1 << 31), "more than"),
            "hollow": (struct.pack(">BBBB3I", 0, 0, 8, 3, 7, 0, 3), "have 0 bytes"),
            "headless": (whole[:9], "too short"),
            "fewer": (idx(self.images[1:], 2, 3), "both files need the same number of items"),
            "cut.gz": (whole[:-1], "cut.gz"),
        }
        before = self.names()
        for name, (data, words) in wrong.items():
            with self.subTest(name):
                path = self.write(name, data)
                result = self.convert(path, labels)
                self.assertEqual(result.returncode, 1)
                self.assertIn(words, result.stderr)
                os.remove(path)
                self.assertEqual(self.names(), before)
        for path in (str(self.folder), str(self.folder / "nowhere"), "/dev/zero"):
            self.assertEqual(self.convert(path, labels).returncode, 1)
        self.assertEqual(run(MDIST, "records", "--images", images, "--labels", labels, "--out", "/nowhere/x").returncode, 1)
        self.assertEqual(self.names(), before)

    def test_the_command_line_is_checked(self):
        for arguments in ([], ["--images", "x"], ["--out", "x"], ["--check"], ["--check", "x", "--gzip"],
                          ["--images", "x", "--labels", "x", "--out", "x", "--shards", "0"]):
            self.assertEqual(run(MDIST, "records", *arguments).returncode, 2, arguments)
        self.assertIn("Each record is the bytes of an image and then those of its label",
                      run(MDIST, "records", "--help").stdout)


@unittest.skipUnless(TRAINING, "fashion_mnist was not built")
class Training(Folder):
    def setUp(self):
        super().setUp()
        noise = random.Random(1)
        for name, count in (("train", 1003), ("t10k", 101)):
            labels = [noise.randrange(10) for _ in range(count)]
            images = [bytes(min(255, noise.randrange(60) + 19 * label) for _ in range(784)) for label in labels]
            images = self.write(f"{name}-images-idx3-ubyte.gz", idx(images, 28, 28))
            labels = self.write(f"{name}-labels-idx1-ubyte.gz", idx([bytes([label]) for label in labels]))
            out = str(self.folder / name)
            made = run(MDIST, "records", "--images", images, "--labels", labels, "--out", out, "--shards", "4")
            self.assertEqual(made.returncode, 0, made.stderr)

    def ends(self, *command, source):
        result = run(*command, *TRAINING, "--epochs", "2", "--batch", "100", source, str(self.folder),
                     "--replicas", "1" if command else "2", MDIST_DATA_ORDER="replica")
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.splitlines()[-2:]

    def test_from_files_as_from_memory_on_one_worker_and_on_two(self):
        wanted = self.ends(source="--data")
        self.assertRegex(wanted[0], "^weights digest: [0-9a-f]{16}$")
        self.assertEqual(self.ends(source="--records"), wanted)
        workers = (MDIST, "launch", "-n", "2", "--no-prefix", "--")
        self.assertEqual(self.ends(*workers, source="--records"), wanted)

    def test_records_of_something_else_are_refused(self):
        images = self.write("other-images", idx([bytes(6)] * 9, 2, 3))
        labels = self.write("other-labels", idx([bytes(1)] * 9))
        self.assertEqual(run(MDIST, "records", "--images", images, "--labels", labels, "--out",
                             str(self.folder / "train-x")).returncode, 0)
        for path in self.folder.glob("train-0*.tfrecord"):
            path.unlink()
        result = run(*TRAINING, "--records", str(self.folder))
        self.assertEqual(result.returncode, 1)
        self.assertIn("MDIST_ERR_CALLBACK", result.stderr)
        result = run(*TRAINING, "--records", str(self.folder / "nowhere"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("no file matches", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

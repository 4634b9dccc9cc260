# SPDX-License-Identifier: Apache-2.0
"""Another project takes libmdist as a subproject of Meson: the library alone, and nothing that is only for its developers."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parents[2]
PROJECT = """\
project('consumer', 'c')
executable('consumer', 'consumer.c', dependencies: dependency('mdist', fallback: 'mdist'))
"""


def main():
    if not shutil.which("meson"):
        print("skipped: meson is not installed")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        project = pathlib.Path(folder)
        (project / "meson.build").write_text(PROJECT)
        shutil.copy(pathlib.Path(__file__).with_name("consumer.c"), project)
        (project / "subprojects").mkdir()
        (project / "subprojects/mdist").symlink_to(ROOT)
        subprocess.run(["meson", "setup", "--force-fallback-for=mdist", project / "build", project], check=True)
        targets = json.loads((project / "build/meson-info/intro-targets.json").read_text())
        names = {target["name"] for target in targets}
        print(sorted(names))
        assert {"consumer", "mdist", "libmdist"} <= names, names
        strange = [name for name in names if name in ("unit", "fashion_mnist") or name.startswith(("api_", "multi_"))]
        assert not strange, strange
        assert not json.loads((project / "build/meson-info/intro-tests.json").read_text())
    return 0


sys.exit(main())

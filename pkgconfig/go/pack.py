# SPDX-License-Identifier: Apache-2.0
"""Packs a Go module for proxies, as golang.org/x/mod/zip does from a repository.

    pack.py FOLDER LICENSE MODULE VERSION SECONDS OUT

writes OUT/MODULE/@v/{list,VERSION.info,VERSION.mod,VERSION.zip}. SECONDS since 1970 is the time of the commit. The zip
has all files of FOLDER and the LICENSE of the repository above it, sorted, all with one time. Go's sum of it does not
depend on the zip: it is that of the files.
"""
import datetime
import json
import pathlib
import re
import sys
import zipfile

BEGINNING = (1980, 1, 1, 0, 0, 0)  # the first time that a zip can name


def files(folder, license):
    if (folder / "vendor").exists():
        sys.exit(f"pack.py: {folder}/vendor exists; a module's zip leaves it out. Remove it")
    nested = [str(path) for path in folder.rglob("go.mod") if path.parent != folder]
    if nested:
        sys.exit(f"pack.py: {', '.join(nested)}: a module in the module; its zip leaves that out. Move it elsewhere")
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    return sorted({"LICENSE": license, **found}.items())


def main():
    folder, license, module, version, seconds, out = sys.argv[1:]
    escaped = re.sub("[A-Z]", lambda letter: "!" + letter[0].lower(), module)  # for file systems that fold case
    place = pathlib.Path(out, escaped, "@v")
    place.mkdir(parents=True)
    when = datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc)
    (place / "list").write_text(version + "\n")
    info = {"Version": version, "Time": f"{when:%Y-%m-%dT%H:%M:%SZ}"}
    (place / f"{version}.info").write_text(json.dumps(info) + "\n")
    (place / f"{version}.mod").write_bytes(pathlib.Path(folder, "go.mod").read_bytes())
    with zipfile.ZipFile(place / f"{version}.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, path in files(pathlib.Path(folder), pathlib.Path(license)):
            archive.writestr(zipfile.ZipInfo(f"{module}@{version}/{name}", BEGINNING), path.read_bytes(),
                             zipfile.ZIP_DEFLATED)


main()

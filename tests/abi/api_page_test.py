# SPDX-License-Identifier: Apache-2.0
"""The reference's index lists every function of the public headers under the heading of its header, and no other one.
Then the same with a mistake in the page, each of which must be found."""
import re
import sys

from public_headers import FOLDER, ROOT, declarations, finish, headers

PAGE = ROOT / "docs" / "reference" / "README.md"
NAME = PAGE.relative_to(ROOT)
# (what is wrong, text on the page, its replacement)
MISTAKES = [
    ("a missing function", "`mdist_cached_reads_{enter, exit}`", "`mdist_cached_reads_enter`"),
    ("a function under another heading", "`mdist_average_loss`", "`mdist_scope_enter`"),
    ("an invented function in braces", "mdist_dataset_{shard,", "mdist_dataset_{shards, shard,"),
    ("an invented function in prose", "Several rounds can", "`mdist_gradients_round` begins one. Several rounds can"),
    ("an invented type", "`mdist_call_options_t`", "`mdist_calls_options_t`"),
    ("a heading without a header", "[membership.h]", "[member.h]"),
]


def expanded(text):
    """All names of a text: foo_{a, b}_c names foo_a_c and foo_b_c."""
    braces = re.compile(r"(\w*)\{([\w\s,]*)\}(\w*)")
    text = braces.sub(lambda found: " ".join(found[1] + each.strip() + found[3] for each in found[2].split(",")), text)
    return re.findall(r"\bmdist_\w+", text)


def sections(page):
    """(headers of the heading, names in the section) of every part of the chapter about headers."""
    chapter = re.search(r"^## The headers$(.*?)(?=^## |\Z)", page, flags=re.M | re.S)
    for part in re.split(r"^### ", chapter[1] if chapter else "", flags=re.M)[1:]:
        heading, _, text = part.partition("\n")
        yield re.findall(r"\w+\.h\b", heading), set(expanded(text))


def check(page):
    functions = {one.name: one.where.partition(":")[0] for one in declarations()}
    known = set(functions) | set(re.findall(r"\bmdist_\w+_t\b", "".join(path.read_text() for path in headers())))
    for name in sorted(set(expanded(page)) - known):
        yield f"{NAME} names {name}, and no public header declares it"
    listed = {}
    for names, text in sections(page):
        for header in names:
            if not (FOLDER / header).is_file():
                yield f"{NAME} has a heading for {header}, and there is no such header"
            listed[header] = text
    for name, header in sorted(functions.items()):
        if header not in listed:
            yield f"{NAME} has no heading for {header}, which declares {name}"
        elif name not in listed[header]:
            others = sorted(other for other, names in listed.items() if name in names)
            where = f"; it is under {', '.join(others)}" if others else ""
            yield f"{NAME} does not list {name} under the heading of {header}{where}"


def unnoticed(page):
    for what, right, wrong in MISTAKES:
        if right not in page:
            yield f"{NAME}: there is no {right!r} to put a mistake into"
        elif not set(check(page.replace(right, wrong, 1))) - set(check(page)):
            yield f"nobody noticed {what}: {wrong!r} instead of {right!r}"


def main():
    page = PAGE.read_text()
    return finish([*check(page), *unnoticed(page)], len(declarations()) + len(MISTAKES))


if __name__ == "__main__":
    sys.exit(main())

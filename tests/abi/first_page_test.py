# SPDX-License-Identifier: Apache-2.0
"""The first comment of mdist.h lists what a trainer needs: at most 75 functions, each with at most 7 parameters, under the
headers that declare them. (examples_test.py runs its examples.)"""
import re
import sys

from public_headers import FOLDER, declarations, finish

MOST_FUNCTIONS = 75
MOST_PARAMETERS = 7


def families(page):
    """(headers, functions) of each family of the page."""
    for part in re.split(r"^ \* (?=[A-Z][^\n]*: `)", page, flags=re.M)[1:]:
        heading, _, text = part.partition("\n")
        listed = " ".join(re.findall(r"^ \* - ([^\n]+)", text, flags=re.M))
        listed = re.sub(r"(\w+)\{([^}]*)\}", lambda found: " ".join(found[1] + one.strip() for one in found[2].split(",")), listed)
        yield re.findall(r"`(\w+\.h)`", heading), re.findall(r"\bmdist_\w+\b(?<!_t)", listed)


def problems():
    page = (FOLDER / "mdist.h").read_text().partition("# What else there is")[0]
    known = {one.name: one for one in declarations()}
    seen = set()
    for headers, functions in families(page):
        for name in functions:
            if name not in known:
                yield f"mdist.h lists {name}, which no header declares"
                continue
            if name in seen:
                yield f"mdist.h lists {name} twice"
            seen.add(name)
            if known[name].where.partition(":")[0] not in headers:
                yield f"mdist.h lists {name} under {', '.join(headers)}; it stands in {known[name].where}"
            if len(known[name].parameters) > MOST_PARAMETERS:
                yield f"{name} has {len(known[name].parameters)} parameters; on the first page {MOST_PARAMETERS} are allowed"
    if not MOST_FUNCTIONS >= len(seen) > 50:
        yield f"mdist.h lists {len(seen)} functions; it should be 50 to {MOST_FUNCTIONS}"
    print(f"{len(seen)} functions on the first page")


sys.exit(finish(list(problems()), 1))

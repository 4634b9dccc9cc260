# SPDX-License-Identifier: Apache-2.0
"""Collects every sentence that the library and the tool can print, from the string literals of lib/ and src/tool/.

    python3 tests/abi/sentences.py           prints the collection
    python3 tests/abi/sentences.py --write   writes it to tests/abi/sentences.txt, which a test compares

The script does not know the functions that print. It splits each source into tokens and puts together every expression
that joins text: adjacent literals, +, <<, and calls of functions with a parameter pack, such as text() and log_warn().
The result is a sentence if its literals hold a word and a space. Parts that are not literal become {name} or {}, and a
choice between two texts becomes [one|other]. A text of several lines stands below its label, each line behind "| ". The
label is the status and reason, the function that receives the text, or "in" and the function or constant that has it.

These literals are left out:
- one word without a space, like a name, a key, a value, a path or the type of an option; a status or reason becomes
  part of the label;
- formats and separators without a word of two letters;
- texts that are compared with what was read, or searched for: operands of == and !=, arguments of COMPARES;
- comments, preprocessor lines, static_assert and attributes, which no user meets;
- arguments of UNREAD, and the constants in OMITTED, for the reasons given there.
"""
import pathlib
import re
import sys
import typing

from cpp_tokens import (CONTROL, assigned, called, choice, every, is_block, is_group, is_sign, literals, split, tokens,
                        tree)

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLLECTION = pathlib.Path(__file__).with_name("sentences.txt")
COMMAND = "python3 tests/abi/sentences.py --write"
HEADER = f"""\
# SPDX-License-Identifier: Apache-2.0
# Every sentence that the library and the tool can print. A test compares this file with the sources, so that a change
# of a sentence is seen in review. After such a change, run: {COMMAND}
# The head of tests/abi/sentences.py explains the form.
"""

OMITTED = {
    ("src/tool/launch/remote.cpp", "kScript"): "a script that a shell on another host runs",
    ("lib/comm/shm/segment.cpp", "kSegmentMagic"): "the first bytes of shared memory",
}
UNREAD = {"keyed_digest", "direction_key", "handshake_key", "ask"}  # their texts go into digests or to other programs
COMPARES = set("starts_with ends_with find rfind compare contains strcmp strncmp strstr sscanf strptime getenv".split())
UNSEEN = {"static_assert", "assert", "__attribute__", "asm", "_Pragma"}
WRAPPERS = {"string", "string_view", "to_string", "move", "static_cast", "Failure"}
OPERATORS = [{",", ";"}, {"=", "+=", "return", "throw", "co_return", "case", "else", "do", "goto"}, {"?"}, {":"},
             {"||", "&&"}, {"==", "!="}, {"<=", ">=", "<=>"}, {"<<"}, {"+"}]
TERNARY, COMPARED, STREAMED, ADDED = OPERATORS[2], OPERATORS[5], OPERATORS[7], OPERATORS[8]


class Context(typing.NamedTuple):
    """Where an expression stands: the enclosing function or constant, and how its text is used."""
    place: str = ""
    label: str = ""


class Names:
    """Facts from all sources that the label of a call depends on."""

    def __init__(self):
        self.joining = set()  # functions with a parameter pack, which join their arguments
        self.statuses = {}  # (path, function that returns a Failure): its status and reason, if it has only one
        self.plain = set()  # functions that add no words to their arguments
        self.declared = set()  # functions that headers declare to return a Failure

    def read(self, path, source, top):
        self.joining |= set(re.findall(r"\b(\w+)\((?:[^()]*,\s*)?const \w+ &\.\.\.\w+\)", source))
        if path.endswith(".h"):
            self.declared |= set(re.findall(r"\bFailure (\w+)\(", source))
        for body_of, body in functions(top):
            self.statuses[path, body_of] = label_of_status(body, whole=True)
            if not any(token.kind == "string" and is_sentence(token.text) for token in every(body)):
                self.plain.add((path, body_of))

    def of_call(self, path, name):
        """Returns the label of a text that is passed to this function."""
        places = [place for place, one in self.statuses if one == name]
        near = [place for place in places if place == path] or [place for place in places if name in self.declared]
        status = self.statuses[near[0], name] if len(near) == 1 else ""
        if not status:
            return f"{name}()"
        return status if (near[0], name) in self.plain else f"{status}, {name}()"


def functions(sequence):
    """Yields the functions that return a Failure, with their bodies."""
    for at, token in enumerate(sequence):
        yield from functions(token.inside)
        if not is_sign(token, {"Failure"}) or at + 2 >= len(sequence):
            continue
        name = at + 3 if is_sign(sequence[at + 2], {"::"}) else at + 1
        body = next((one for one in sequence[name + 2:name + 5] if is_group(one, "{")), None)
        if body and sequence[name].kind == "word" and is_group(sequence[name + 1], "("):
            yield sequence[name].text, body.inside


def label_of_status(sequence, whole=False):
    """Returns "IO permission" for Failure(MDIST_ERR_IO, ...).reason("permission"); "" unless there is just one status."""
    flat = list(every(sequence)) if whole else list(sequence)
    statuses = {token.text.removeprefix("MDIST_ERR_") for token in flat if token.text.startswith("MDIST_ERR_")}
    reasons = []
    for at, token in enumerate(flat[:-1]):
        if is_sign(token, {"reason"}) and is_group(flat[at + 1], "("):
            reasons += [one.text for one in every(flat[at + 1].inside) if one.kind == "string" and one.text]
    return " ".join([statuses.pop(), *(reasons if len(reasons) == 1 else [])]) if len(statuses) == 1 else ""


def is_sentence(text):
    """Tells whether the text has a space and a word of two letters. Formats of printf and {names} are not words."""
    plain = re.sub(r"%[-+ #0-9.*]*(?:hh|h|ll|l|z|j|t)?[a-zA-Z]|\{[\w.]*\}|\\x..", "", text)
    return " " in plain and re.search(r"[A-Za-z]{2}", plain) is not None


def name_of(sequence):
    """Gives {name} for `name`, `a.name`, `a->name()`, `names[i]`, `name(a)` and `to_string(name)`; {} for anything else."""
    words = [token for token in sequence if not is_group(token, "(") and not is_group(token, "[")]
    while words and is_sign(words[0], {"*", "&"}):
        words = words[1:]
    call = called(sequence, len(sequence) - 1) if sequence else ""
    if call in WRAPPERS and is_group(sequence[-1], "(") and sequence[-1].inside:
        return name_of(sequence[-1].inside)
    if call == "text" and len(words) > 2 and is_sign(words[-2], {".", "->"}):
        # The name text says nothing. The object's name says more, and so does the key in config.text("key").
        if [one.kind for one in sequence[-1].inside] == ["string"]:
            return "{" + sequence[-1].inside[0].text + "}"
        words = words if sequence[-1].inside else words[:-2]
    plain = all(token.kind == "word" or is_sign(token, {".", "->", "::"}) for token in words)
    name = words[-1].text if words and plain and words[-1].kind == "word" else call
    return "{}" if name in CONTROL else "{" + name.rstrip("_") + "}"


class Collector:
    """Walks through one source and collects its sentences in order."""

    def __init__(self, path, names):
        self.path = path
        self.names = names
        self.lines = {}  # a dictionary keeps the order and drops duplicates
        self.left_out = set()  # literals that are omitted on purpose

    def note(self, text, context):
        if (self.path, context.place) in OMITTED:
            self.left_out.add(text)
            return
        if not is_sentence(text):
            return
        label = context.label or (f"in {context.place}" if context.place else "")
        text = text.strip("\n").replace("\t", "\\t").replace("\r", "\\r").replace("\0", "\\0")
        if "\n" in text:
            text = "".join("\n        | " + line for line in text.split("\n"))
        self.lines["    " + re.sub(r" +$", "", f"{label}: {text}" if label else text, flags=re.M)] = None

    # Walking: finds the expressions that are text.

    def statements(self, sequence, context):
        """Walks through statements and declarations."""
        one = []
        for token in sequence:
            one.append(token)
            if is_sign(token, {";"}) or is_block(token) and not assigned(one):
                self.expression(one, context)
                one = []
        self.expression(one, context)

    def leave_out(self, sequence):
        self.left_out.update(token.text for token in every(sequence) if token.kind == "string")

    def expression(self, sequence, context):
        if not literals(sequence):
            return
        if any(is_sign(token, UNSEEN) for token in sequence[:1]):
            self.leave_out(sequence)
            return
        if not context.place:
            context = context._replace(place=self.defined(sequence))
        for signs in OPERATORS:
            if signs is TERNARY:
                parts = choice(sequence)
                if parts:
                    return self.each(parts, context)
            elif any(is_sign(token, signs) for token in sequence):
                parts, found = split(sequence, signs)
                if signs is STREAMED or signs is ADDED:
                    return self.joined(parts, found, context)
                if signs is COMPARED:
                    self.leave_out(part[0] for part in parts if [token.kind for token in part] == ["string"])
                    parts = [part for part in parts if [token.kind for token in part] != ["string"]]
                return self.each(parts, context)
        return self.operand(sequence, context)

    def each(self, parts, context):
        for part in parts:
            self.expression(part, context)

    def defined(self, sequence):
        """Returns the function or constant that a declaration outside of functions defines; "" for a class or namespace."""
        if any(is_sign(token, {"namespace", "class", "struct", "union", "extern"}) for token in sequence[:1]):
            return ""
        for at, token in enumerate(sequence[:-1]):
            after = sequence[at + 1]
            if token.kind == "word" and token.text not in CONTROL:
                if is_group(after, "(") or is_group(after, "{") and not is_block(after):
                    return token.text
                if {at + 1, at + 2 if is_group(after, "[") else at + 1} & set(assigned(sequence)):
                    return token.text
        return ""

    def joined(self, parts, signs, context):
        """Reads a chain of << or +. The first operand of << is the stream."""
        if "<<" in signs:
            stream, parts = parts[0], parts[1:]
            self.expression(stream, context)
            words = [token.text for token in stream if token.kind == "word"]
            context = context._replace(label=context.label or (words[-1] if words else ""))
        return self.note("".join(self.text(part, context) for part in parts), context)

    def operand(self, sequence, context):
        """Reads names, literals and groups in a row, as in make(a).reason("b")."""
        if [token.kind for token in sequence] == ["string"]:
            return self.note(sequence[0].text, context)
        for at, token in enumerate(sequence):
            before = called(sequence, at)
            if token.kind == "string":
                self.note(token.text, context)
            elif is_group(token, "{"):
                if is_block(token):
                    self.statements(token.inside, Context(context.place))
                else:
                    status = label_of_status(list(token.inside) + list(sequence[at + 1:]))
                    self.expression(list(token.inside), context._replace(label=status or context.label))
            elif is_group(token, "(") and before:
                self.call(before, sequence[max(at - 2, 0)], token, sequence[at + 1:], context)
            elif token.kind == "group":
                self.expression(list(token.inside), context)
        return None

    def joins(self, name, before):
        """Tells whether this is a call of a function such as text(), not of a member with the same name."""
        return name in self.names.joining and not is_sign(before, {".", "->"})

    def call(self, name, before, group, after, context):
        arguments = list(group.inside)
        if name in COMPARES | UNSEEN | UNREAD:
            self.leave_out(arguments)
            return
        if self.joins(name, before):
            inner = context._replace(label=context.label if name == "text" else name.replace("log_", "log "))
            self.note(self.arguments(arguments, inner), inner)
            return
        label = context.label
        status = label_of_status(arguments + list(after))
        if status:
            label = status
        elif name not in WRAPPERS:
            label = self.names.of_call(self.path, name)
            words = [f'"{part[0].text}"' for part in split(arguments, {","})[0]
                     if [token.kind for token in part] == ["string"] and re.fullmatch(r"[\w.,/*-]+", part[0].text)]
            if words and label.endswith("()"):
                label = f"{label[:-1]}{', '.join(words)})"
        self.expression(arguments, context._replace(label=label))

    # Rendering: writes the text of an expression.

    def arguments(self, sequence, context):
        return "".join(self.text(part, context) for part in split(sequence, {","})[0])

    def text(self, sequence, context):
        """Returns the text of an expression. Collects sentences separately that stand inside parts without a text."""
        if not sequence:
            return ""
        if all(token.kind in ("string", "char") for token in sequence):
            return "".join(token.text for token in sequence)
        if not literals(sequence) and not any(token.kind == "char" for token in every(sequence)):
            return self.value(sequence)
        parts = choice(sequence)
        if parts:
            self.expression(parts[0], Context(context.place))
            return "[" + "|".join(self.text(part, context).replace("\n", "\\n") for part in parts[1:]) + "]"
        if not any(is_sign(token, sign) for sign in OPERATORS[:7] for token in sequence):
            if any(is_sign(token, {"+"}) for token in sequence):
                return "".join(self.text(part, context) for part in split(sequence, {"+"})[0])
            if len(sequence) == 1 and is_group(sequence[0], "("):
                return self.text(list(sequence[0].inside), context)
            name = called(sequence, len(sequence) - 1)
            joins = name in WRAPPERS or self.joins(name, sequence[max(len(sequence) - 3, 0)])
            if is_group(sequence[-1], "(") and joins:
                return self.arguments(list(sequence[-1].inside), context)
        self.expression(sequence, Context(context.place))
        return self.value(sequence)

    @staticmethod
    def value(sequence):
        call = called(sequence, len(sequence) - 1)
        if call == "string" and not sequence[-1].inside:
            return ""
        if call == "in_quotes":
            return f'"{name_of(sequence[-1].inside)}"'
        return name_of(sequence)


def collect(sources):
    """Returns a collector for each source. `sources` maps paths to contents."""
    names, trees, collectors = Names(), {}, {}
    for path, source in sources.items():
        try:
            trees[path] = tree(tokens(source))
        except ValueError as problem:
            raise ValueError(f"{path}: {problem}") from None
        names.read(path, source, trees[path])
    for path, top in trees.items():
        collectors[path] = Collector(path, names)
        collectors[path].statements(top, Context())
    return collectors


def read_sources():
    paths = [path for folder in ("lib", "src/tool") for path in (ROOT / folder).rglob("*")]
    paths = sorted(path.relative_to(ROOT).as_posix() for path in paths if path.suffix in (".h", ".cpp", ".cu", ".cuh"))
    return {path: (ROOT / path).read_text() for path in paths}


def collection(collectors):
    """Returns the text of the file."""
    return HEADER + "".join("\n".join(["", path, *one.lines, ""]) for path, one in collectors.items() if one.lines)


def main():
    if sys.argv[1:] not in ([], ["--write"]):
        print(f"usage: {sys.argv[0]} [--write]", file=sys.stderr)
        return 2
    if sys.argv[1:]:
        COLLECTION.write_text(collection(collect(read_sources())))
    else:
        print(collection(collect(read_sources())), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())

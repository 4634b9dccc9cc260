# SPDX-License-Identifier: Apache-2.0
"""Reads C++ as a tree of tokens, and answers questions about such a tree. Literals have their values, adjacent strings
are one token, and brackets are groups. Comments and preprocessor lines are dropped. This is not a parser: names and
types are both words."""
import functools
import re
import typing

# Words that can stand before parentheses but are not functions.
CONTROL = {"if", "for", "while", "switch", "catch", "sizeof", "decltype", "alignas", "noexcept", "requires", "return"}

TOKEN = re.compile(r"""
    (?P<skip>\s+|//(?:\\\n|[^\n])*|/\*.*?\*/|(?:^|(?<=\n))[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*)
  | (?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\s\\]*)\((?P<inside>.*?)\)(?P=mark)")
  | (?P<string>(?:u8|[uUL])?"(?P<text>(?:\\.|[^"\\\n])*)"(?:s|sv)?(?!\w))
  | (?P<char>(?:u8|[uUL])?'(?P<letter>(?:\\.|[^'\\\n])+)')
  | (?P<number>\.?\d(?:[eEpP][+-]|'\w|[\w.])*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<punct><=>|<<=|>>=|->|::|<<|\+\+|--|&&|\|\||[-+*/%&|^=!<>]=|\.\.\.|.)
""", re.X | re.S)
ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]+|[0-7]{1,3}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|\n|.)", re.S)
ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "\n": ""}


class Token(typing.NamedTuple):
    kind: str  # string, char, number, word, punct or group
    text: str  # value of a literal; opening bracket of a group
    inside: tuple = ()


def unescaped(text):
    """Returns the value of a literal. Bytes that cannot be shown stay escaped."""
    def one(found):
        code = found[1]
        if code[0] in "uU":
            return chr(int(code[1:], 16))
        if code[0] == "x" or code[0].isdigit():
            byte = int(code[1:], 16) if code[0] == "x" else int(code, 8)
            return chr(byte) if 32 <= byte < 127 or byte == 0 else f"\\x{byte:02x}"
        return ESCAPED.get(code, code)
    return ESCAPE.sub(one, text)


@functools.cache
def tokens(source):
    """Returns the tokens of C++ text, without comments and preprocessor lines. Adjacent strings are one token."""
    out = []
    for found in TOKEN.finditer(source):
        kind = found.lastgroup
        if found["raw"] is not None:
            token = Token("string", found["inside"])
        elif found["string"] is not None:
            token = Token("string", unescaped(found["text"]))
        elif found["char"] is not None:
            token = Token("char", unescaped(found["letter"]))
        elif found["skip"] is not None:
            continue
        else:
            token = Token(kind, found[0])
        if token.kind == "string" and out and out[-1].kind == "string":
            token = Token("string", out.pop().text + token.text)
        out.append(token)
    return tuple(out)


def tree(flat):
    """Groups tokens: each pair of brackets with its content becomes one token, a group."""
    stack, closing = [("", [])], {"(": ")", "[": "]", "{": "}"}
    for token in flat:
        if token.kind == "punct" and token.text in closing:
            stack.append((token.text, []))
        elif token.kind == "punct" and token.text in closing.values():
            opening, inside = stack.pop()
            if closing.get(opening) != token.text:
                raise ValueError(f"{token.text} closes {opening or 'nothing'}")
            stack[-1][1].append(Token("group", opening, tuple(inside)))
        else:
            stack[-1][1].append(token)
    if len(stack) != 1:
        raise ValueError(f"{stack[-1][0]} is not closed")
    return tuple(stack[0][1])


def is_group(token, opening):
    return token.kind == "group" and token.text == opening


def is_sign(token, texts):
    return token.kind in ("punct", "word") and token.text in texts


def split(sequence, signs):
    """Splits a sequence at the signs. Returns the parts and the signs."""
    parts, found = [[]], []
    for token in sequence:
        if is_sign(token, signs):
            parts.append([])
            found.append(token.text)
        else:
            parts[-1].append(token)
    return parts, found


def choice(sequence):
    """Splits `a ? b : c`, or returns None."""
    for start, token in enumerate(sequence):
        if is_sign(token, "?"):
            open_choices = 0
            for at in range(start, len(sequence)):
                open_choices += is_sign(sequence[at], "?") - is_sign(sequence[at], ":")
                if open_choices == 0:
                    return sequence[:start], sequence[start + 1:at], sequence[at + 1:]
    return None


def literals(sequence):
    """Tells whether the sequence has a string, at any depth."""
    return any(token.kind == "string" or literals(token.inside) for token in sequence)


def is_block(token):
    """Tells whether braces hold statements. Other braces hold the values of an object."""
    if not is_group(token, "{"):
        return False
    return not token.inside or any(is_sign(one, ";") or is_block(one) for one in token.inside)


def assigned(sequence):
    """Returns the positions of =, except in `operator=` and in default types of templates."""
    return [at for at, token in enumerate(sequence)
            if is_sign(token, {"="}) and not (at and is_sign(sequence[at - 1], {"operator", "typename", "class"}))]


def every(sequence):
    """Yields every token, at any depth."""
    for token in sequence:
        yield token
        yield from every(token.inside)


def called(sequence, at):
    """Returns the name of the function whose arguments are the group at that position."""
    if at > 0 and sequence[at - 1].kind == "word" and sequence[at - 1].text not in CONTROL:
        return sequence[at - 1].text
    # In make<Type>(...), the name stands before the angle brackets.
    if at > 0 and is_sign(sequence[at - 1], {">"}):
        start = next((i for i in range(at - 1, -1, -1) if is_sign(sequence[i], {"<"})), 0)
        return called(sequence, start)
    return ""

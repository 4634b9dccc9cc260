# SPDX-License-Identifier: Apache-2.0
"""The reviewed file holds the sentences of the sources, none is lost, and the extractor reads C++."""
import difflib
import unittest

from cpp_tokens import tokens
from sentences import COLLECTION, COMMAND, collect, collection, is_sentence, read_sources


def with_paths(text):
    """Yields the lines of a collection, each with the path above it, so that a difference shows the file."""
    path = ""
    for line in text.splitlines():
        if line and line[0] not in " #":
            path = line
        elif line:
            yield f"{path}: {line.strip()}" if path else line


def lines(source, path="x.cpp", **others):
    """Collects from one source. `others` are headers that it is read with."""
    sources = {name + ".h": text for name, text in others.items()}
    return [line.strip() for line in collect({**sources, path: source})[path].lines]


class Collection(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sources = read_sources()
        cls.found = collect(cls.sources)

    def test_the_reviewed_file_holds_the_sentences_of_the_sources(self):
        reviewed = COLLECTION.read_text() if COLLECTION.exists() else ""
        found = collection(self.found)
        difference = difflib.unified_diff(list(with_paths(reviewed)), list(with_paths(found)), COLLECTION.name,
                                          "the sources", n=0, lineterm="")
        if reviewed != found:
            shown = "\n".join(line for line in difference if not line.startswith("@@"))
            self.fail(f"the sentences have changed:\n{shown}\nRead them as a user would. Then run: {COMMAND}")

    def test_every_literal_with_words_is_in_it_or_left_out_on_purpose(self):
        lost = []
        for path, source in self.sources.items():
            known = "\n".join(self.found[path].lines)
            for token in tokens(source):
                if token.kind != "string" or not is_sentence(token.text) or token.text in self.found[path].left_out:
                    continue
                words = token.text.replace("\t", "\\t").replace("\r", "\\r").strip("\n").split("\n")
                lost += [f"{path}: {line}" for line in words if line.rstrip() not in known]
        self.assertEqual(lost, [])


class Tokens(unittest.TestCase):
    def texts(self, source):
        return [token.text for token in tokens(source) if token.kind in ("string", "char")]

    def test_adjacent_literals_are_one(self):
        self.assertEqual(self.texts('f("a " // "no"\n  "b " /* "no" */ u8"c")'), ["a b c"])

    def test_escapes_are_read(self):
        self.assertEqual(self.texts(r'''"say \"x\"\n\t\\" '\'' "\033[0m"'''), ['say "x"\n\t\\', "'", "\\x1b[0m"])

    def test_raw_strings_end_at_their_mark(self):
        self.assertEqual(self.texts('R"x(one )" two)x" "three"'), ['one )" twothree'])

    def test_preprocessor_lines_are_skipped(self):
        self.assertEqual(self.texts('#include "a b.h"\n#define X \\\n  "no word"\n"a" // 1\'000'), ["a"])

    def test_digit_separators_begin_no_character(self):
        self.assertEqual(self.texts("x = 1'000'000; f(\"a\", 'b')"), ["a", "b"])


class Sentences(unittest.TestCase):
    TEXT = "template <typename... P> std::string text(const P &...parts) { return {}; }"
    LOG = "template <typename... P> void log_warn(const P &...parts) {}"

    def test_a_failure_has_its_status_and_reason(self):
        source = 'void f() { throw Failure(MDIST_ERR_IO, text("cannot open ", in_quotes(path_))).reason("gone"); }'
        self.assertEqual(lines(source, text=self.TEXT), ['IO gone: cannot open "{path}"'])
        self.assertEqual(lines('Failure f() { return {MDIST_ERR_IO, "no such file"}; }'), ["IO: no such file"])
        self.assertEqual(lines('Failure f() { Failure x(MDIST_ERR_IO, "no such file"); }'), ["IO: no such file"])

    def test_a_status_that_is_chosen_is_not_named(self):
        source = 'void f() { throw Failure(a ? MDIST_ERR_IO : MDIST_ERR_RESOURCE, "no file is left"); }'
        self.assertEqual(lines(source), ["in f: no file is left"])

    def test_functions_that_make_failures_lend_their_status(self):
        header = "inline Failure invalid(std::string m) { return {MDIST_ERR_INVALID_ARGUMENT, std::move(m)}; }"
        self.assertEqual(lines('void f() { throw invalid("a is 0"); }', util=header), ["INVALID_ARGUMENT: a is 0"])
        local = 'Failure wrong(T m) { return {MDIST_ERR_IO, text("not good: ", m)}; } '
        local += 'void f() { throw wrong("it is 0"); }'
        self.assertEqual(lines(local, text=self.TEXT), ["IO: not good: {m}", "IO, wrong(): it is 0"])

    def test_other_functions_are_named_with_their_words(self):
        source = 'void f() { app.add_option("--n", n, "how many workers"); }'
        self.assertEqual(lines(source), ['add_option("--n"): how many workers'])

    def test_log_lines_and_streams_are_joined(self):
        source = 'void f() { log_warn("lost ", count, " lines"); std::cerr << "lost " << x->count() << " lines\\n"; }'
        self.assertEqual(lines(source, log=self.LOG), ["log warn: lost {count} lines", "cerr: lost {count} lines"])

    def test_members_named_text_join_nothing(self):
        source = 'void f() { throw Bad(text("it is ", config.text("a.key"), " of ", shape.text())); }'
        self.assertEqual(lines(source, text=self.TEXT), ["Bad(): it is {a.key} of {shape}"])

    def test_a_choice_within_a_sentence_shows_both(self):
        source = 'void f() { return text(n, n == 1 ? " file" : " files", " left", ok ? std::string() : " (closed)"); }'
        self.assertEqual(lines(source, text=self.TEXT), ["in f: {n}[ file| files] left[| (closed)]"])

    def test_a_choice_between_sentences_gives_two(self):
        source = 'void f() { x = a ? "one way" : b + " or other"; }'
        self.assertEqual(lines(source), ["in f: one way", "in f: {b} or other"])

    def test_expressions_are_named_where_they_have_a_name(self):
        source = 'void f() { g("of " + a.name_ + b[i] + std::to_string(count) + message(2) + (i + 1)); }'
        self.assertEqual(lines(source), ["g(): of {name}{b}{count}{message}{}"])

    def test_texts_within_an_unshown_part_stand_alone(self):
        source = 'void f() { g(text("made of ", made_of([&] { return "a sum"; }), ".")); }'
        self.assertEqual(lines(source, text=self.TEXT), ["in f: a sum", "g(): made of {made_of}."])

    def test_tables_name_their_constant(self):
        source = 'constexpr Key kTable[] = {{"one", 1, "What one is."}, {"two", 2, "What two is."}};'
        self.assertEqual(lines(source), ["in kTable: What one is.", "in kTable: What two is."])

    def test_line_breaks_begin_lines(self):
        source = 'void f() { g("one line\\nand two\\n"); }'
        self.assertEqual(collect({"x": source})["x"].lines, {"    g():\n        | one line\n        | and two": None})

    def test_the_same_sentence_stands_once(self):
        self.assertEqual(lines('void f() { g("it is"); g("it is"); }'), ["g(): it is"])

    def test_what_nobody_reads_is_left_out(self):
        self.assertEqual(lines('static_assert(x, "no word of it"); void f() { asm("mov to, from"); }'), [])
        self.assertEqual(lines('void f() { if (a == "model name" || a.starts_with("cpu of")) g("key"); }'), [])
        self.assertEqual(lines('void f() { printf("%5u %s: %d\\n", a); strftime(b, "%Y-%m-%d %H", c); }'), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)

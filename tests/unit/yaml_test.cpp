// SPDX-License-Identifier: Apache-2.0
#include "util/yaml.h"

#include "config_support.h"
#include "subject.h"
#include "util/text.h"

using namespace mdist;

namespace {

/// Entries as one text: "key=value@line:column" or "key=[a|b]@line:column", joined by spaces.
std::string flat(const std::string &text) {
    std::string out;
    for (const yaml::Entry &entry : yaml::read(text, "t")) {
        std::string values;
        for (const std::string &value : entry.values) values += (values.empty() ? "" : "|") + value;
        if (entry.is_list) values = mdist::text("[", values, "]");
        out += mdist::text(out.empty() ? "" : " ", entry.key, "=", values, yaml::place_text("@", entry.value_place));
    }
    return out;
}

void refused(const std::string &text, const std::string &place, const std::string &words) {
    Outcome outcome = outcome_of([&] { yaml::read(text, "a.yaml"); });
    assert_int_equal(outcome.status, MDIST_ERR_CONFIG);
    assert_text(outcome.reason, "bad_yaml");
    assert_begins(outcome, "a.yaml:" + place + ": ");
    assert_says(outcome, words);
}

void nested_mappings_become_dotted_keys(void **) {
    assert_text(flat("a: 1\nb:\n  c: x y\n  d: {e: 'q: r', f: \"\\u00e9\"}\n"),
                "a=1@:1:4 b.c=x y@:3:6 b.d.e=q: r@:4:10 b.d.f=\xc3\xa9@:4:21");
}

void lists_of_scalars_keep_their_items(void **) {
    assert_text(flat("a: [1, 'b,c', \"\"]\nb:\n- x\n- y\nc: []"), "a=[1|b,c|]@:1:4 b=[x|y]@:3:1 c=[]@:5:4");
}

void words_that_yaml_knows_stay_text(void **) {
    assert_text(flat("a: off\nb: 0x10\nc: ~\nd:\ne: 2001-01-01"),
                "a=off@:1:4 b=0x10@:2:4 c=~@:3:4 d=@:4:3 e=2001-01-01@:5:4");
}

void an_empty_text_has_no_entries(void **) {
    for (const char *text :
         {"", "\n\n", "# comment\n", "---\n", "--- ~\n", "{}", "\xef\xbb\xbf", "---\n...\n", "%YAML 1.2\n---\n"})
        assert_text(flat(text), "");
    assert_true(yaml::read(std::string_view(), "t").empty());
}

void a_byte_order_mark_and_windows_line_ends_are_fine(void **) {
    assert_text(flat("\xef\xbb\xbf"
                     "a: 1\r\nb: 2\r\n"),
                "a=1@:1:4 b=2@:2:4");
}

void syntax_errors_name_line_and_column(void **) {
    refused("a: [1, 2", "2:1", "flow sequence that begins at line 1, column 4");
    refused("a: 1\nb: 'x", "2:6", "quoted scalar that begins at line 2, column 4");
    refused("a: 1\n b: 2\n", "2:3", "mapping values are not allowed");
    refused("a: {b: 1\nc", "3:1", "line 1, column 4");
    refused("\ta: 1", "1:1", "cannot start any token");
    refused("a: %x", "1:4", "cannot start any token");
    refused("a:\n\tb: 1", "2:1", "the line begins with a tab, but only spaces indent");
    refused("a:\r\n  b: 1\r\n  \tc: 2", "3:3", "the line begins with a tab");
}

void constructs_beyond_configuration_are_refused_in_place(void **) {
    refused("a: &x 1", "1:4", "anchors");
    refused("a: 1\nb: *x", "2:4", "aliases");
    refused("a: !!int 1", "1:4", "tags");
    refused("a: ! 1", "1:4", "tags");
    refused("%TAG ! tag:x,2000:\n---\na: 1", "1:1", "tag directives");
    refused("a: 1\n---\nb: 1", "2:1", "second document");
    refused("a: 1\n...\n---\n", "3:1", "second document");
    refused("[a, b]", "1:1", "must be a mapping");
    refused("word", "1:1", "must be a mapping");
    refused("a: [1, [2]]", "1:8", "a list may hold only plain values");
    refused("a:\n- b: 1", "2:3", "a list may hold only plain values");
    refused("[a]: 1", "1:1", "a key must be");
    refused("? {a: b}\n: 1", "1:3", "a key must be");
    refused("'': 1", "1:1", "key is missing");
    refused("{: 1}", "1:2", "did not find expected");
    refused("a: \"x\\0y\"", "1:4", "NUL");
    refused(mdist::text(std::string(300, 'a'), ": 1"), "1:1", "more than 256 bytes");
}

void a_key_given_twice_names_both_places(void **) {
    refused("a: 1\nb: 2\na: 3", "3:1", "given at line 1, column 1");
    refused("a: {b: 1, b: 1}", "1:11", "\"a.b\"");
    refused("a.b: 1\na: {b: 2}", "2:5", "line 1, column 1");
    refused("a: {b: 1}\na: {c: 2}", "2:1", "\"a\"");
    refused("a: 1\na: {c: 2}", "2:1", "\"a\"");
    assert_text(flat("a.b: 1\na.c: 2"), "a.b=1@:1:6 a.c=2@:2:6");
}

void bytes_that_are_no_text_are_refused_in_place(void **) {
    using namespace std::string_literals;
    refused("a: 1\nb: \0"s, "2:4", "control character 0");
    refused("a: \xff", "1:4", "not UTF-8");
    refused("\xc3\xa9: \xc0\xaf", "1:4", "not UTF-8");
    refused("a: \xed\xa0\x80", "1:4", "not UTF-8");
    refused("a: \xf4\x90\x80\x80", "1:4", "not UTF-8");
    refused("a: \xe2\x82", "1:4", "not UTF-8");
    refused("a: \x1b[0m", "1:4", "control character 27");
    refused(
        "\xff\xfe"
        "a\0:\0"s,
        "1:1", "not UTF-8");
    refused("a: 1\r\nb: 2\rc: \x01", "3:4", "control character 1");
}

std::string nested(int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += "{a: ";
    return mdist::text(text, 1, std::string(static_cast<size_t>(depth), '}'));
}

void nesting_is_limited_to_the_stated_depth(void **) {
    assert_int_equal(outcome_of([] { yaml::read(nested(yaml::kMostDepth), "t"); }).status, MDIST_OK);
    refused(nested(yaml::kMostDepth + 1), "1:129", "nested deeper than 32");
}

/// The document loader of libyaml takes seconds for these; a meson time limit is the only clock here.
void hostile_nesting_is_refused_before_it_costs(void **) {
    for (size_t kib : {16, 32, 63})
        for (const char *unit : {"[", "{a: ", "{", "- ", "? ", "[{a: ", "a: {"}) {
            std::string text = "a: ";
            if (*unit == '-' || *unit == '?') text = "";
            while (text.size() + 8 < kib * 1024) text += unit;
            assert_int_equal(outcome_of([&] { yaml::read(text, "t"); }).status, MDIST_ERR_CONFIG);
        }
}

void long_text_is_refused_and_the_limit_itself_is_not(void **) {
    std::string text = "a: 1\n#";
    text.resize(yaml::kMostBytes, 'x');
    assert_text(flat(text), "a=1@:1:4");
    refused(text + "x", "1:1", "at most 65536");
}

} // namespace

SUBJECT(yaml) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(nested_mappings_become_dotted_keys),
        cmocka_unit_test(lists_of_scalars_keep_their_items),
        cmocka_unit_test(words_that_yaml_knows_stay_text),
        cmocka_unit_test(an_empty_text_has_no_entries),
        cmocka_unit_test(a_byte_order_mark_and_windows_line_ends_are_fine),
        cmocka_unit_test(syntax_errors_name_line_and_column),
        cmocka_unit_test(constructs_beyond_configuration_are_refused_in_place),
        cmocka_unit_test(a_key_given_twice_names_both_places),
        cmocka_unit_test(bytes_that_are_no_text_are_refused_in_place),
        cmocka_unit_test(nesting_is_limited_to_the_stated_depth),
        cmocka_unit_test(hostile_nesting_is_refused_before_it_costs),
        cmocka_unit_test(long_text_is_refused_and_the_limit_itself_is_not),
    };
    return cmocka_run_group_tests_name("yaml", tests, nullptr, nullptr);
}

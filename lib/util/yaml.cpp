// SPDX-License-Identifier: Apache-2.0
#include "util/yaml.h"

#include <yaml.h>

#include <algorithm>
#include <map>
#include <new>

#include "util/failure.h"
#include "util/text.h"
#include "util/utf8.h"

namespace mdist::yaml {

namespace {

Place place_of(const yaml_mark_t &mark) {
    return {mark.line + 1, mark.column + 1};
}

Place place_of_offset(std::string_view text, std::size_t offset) {
    Place place{1, 1};
    for (std::size_t i = 0; i < offset;) {
        bool line_end = text[i] == '\n' || (text[i] == '\r' && text.substr(i + 1, 1) != "\n");
        place = line_end ? Place{place.line + 1, 1} : Place{place.line, place.column + 1};
        i += std::max<std::size_t>(1, utf8_character(text.substr(i)));
    }
    return place;
}

/// Whether there is a tab in the blanks at the beginning of a line, counted from 0.
bool is_indented_by_tab(std::string_view text, std::size_t line) {
    for (; line != 0; --line) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    return text.substr(0, text.find_first_not_of(" \t")).find('\t') != std::string_view::npos;
}

[[noreturn]] void refuse(std::string_view name, Place place, std::string_view why) {
    throw Failure(MDIST_ERR_CONFIG, mdist::text(place_text(name, place), ": ", why)).reason("bad_yaml");
}

/// libyaml would find bad bytes too, but tells no line and column for them.
void check_bytes(std::string_view text, std::string_view name) {
    if (text.size() > kMostBytes)
        refuse(name, {1, 1}, mdist::text("the text has ", text.size(), " bytes; at most ", kMostBytes, " are read"));
    for (std::size_t i = 0; i < text.size();) {
        std::size_t length = utf8_character(text.substr(i));
        auto byte = static_cast<unsigned char>(text[i]);
        if (length == 0) refuse(name, place_of_offset(text, i), "the text is not UTF-8 here");
        if ((byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7f)
            refuse(name, place_of_offset(text, i), mdist::text("control character ", int{byte}, " in the text"));
        i += length;
    }
}

class Event {
  public:
    Event() = default;
    ~Event() { yaml_event_delete(&event_); }
    Event(const Event &) = delete;
    Event &operator=(const Event &) = delete;

    yaml_event_t *raw() { return &event_; }
    yaml_event_type_t type() const { return event_.type; }
    Place place() const { return place_of(event_.start_mark); }
    std::string_view scalar() const {
        return {reinterpret_cast<const char *>(event_.data.scalar.value), event_.data.scalar.length};
    }
    bool is_quoted() const { return event_.data.scalar.style != YAML_PLAIN_SCALAR_STYLE; }
    bool has_tag_directives() const {
        return event_.data.document_start.tag_directives.start != event_.data.document_start.tag_directives.end;
    }

    /// The anchor and the tag that any node may carry, or null without one.
    const yaml_char_t *anchor() const {
        if (type() == YAML_SCALAR_EVENT) return event_.data.scalar.anchor;
        if (type() == YAML_MAPPING_START_EVENT) return event_.data.mapping_start.anchor;
        return type() == YAML_SEQUENCE_START_EVENT ? event_.data.sequence_start.anchor : nullptr;
    }
    const yaml_char_t *tag() const {
        if (type() == YAML_SCALAR_EVENT) return event_.data.scalar.tag;
        if (type() == YAML_MAPPING_START_EVENT) return event_.data.mapping_start.tag;
        return type() == YAML_SEQUENCE_START_EVENT ? event_.data.sequence_start.tag : nullptr;
    }

  private:
    yaml_event_t event_{};
};

class Reader {
  public:
    Reader(std::string_view text, std::string_view name) : name_(name), text_(text) {
        if (!yaml_parser_initialize(&parser_)) throw std::bad_alloc();
        yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char *>(text.data()), text.size());
    }
    ~Reader() { yaml_parser_delete(&parser_); }
    Reader(const Reader &) = delete;
    Reader &operator=(const Reader &) = delete;

    std::vector<Entry> read();

  private:
    void next(Event &event);
    [[noreturn]] void refuse_syntax();
    [[noreturn]] void refuse(Place place, std::string_view why) { yaml::refuse(name_, place, why); }
    std::string read_scalar(const Event &event);
    void read_mapping(const std::string &prefix, int depth);
    void read_value(std::string key, Place key_place, int depth);
    std::vector<std::string> read_list();
    std::string new_key(const std::string &prefix, const Event &event);

    yaml_parser_t parser_;
    std::string_view name_;
    std::string_view text_;
    std::vector<Entry> entries_;
    std::map<std::string, Place> seen_; // every dotted key, those of mappings included
};

void Reader::next(Event &event) {
    if (!yaml_parser_parse(&parser_, event.raw())) refuse_syntax();
    if (event.type() == YAML_ALIAS_EVENT)
        refuse(event.place(), "aliases (*name) are not supported; write the value out");
    if (event.anchor() != nullptr)
        refuse(event.place(), "anchors (&name) are not supported; write the value out each time");
    if (event.tag() != nullptr) refuse(event.place(), "tags (!name) are not supported; every value is text");
}

void Reader::refuse_syntax() {
    if (parser_.error == YAML_MEMORY_ERROR) throw std::bad_alloc();
    std::string_view problem = parser_.problem != nullptr ? parser_.problem : "not valid YAML";
    if (parser_.error == YAML_READER_ERROR)
        refuse(place_of_offset(text_, std::min(parser_.problem_offset, text_.size())), problem);
    std::string why(problem);
    if (parser_.context != nullptr && parser_.context_mark.index != parser_.problem_mark.index) {
        Place context = place_of(parser_.context_mark);
        why += mdist::text(" ", parser_.context, " that begins at line ", context.line, ", column ", context.column);
    }
    if (is_indented_by_tab(text_, parser_.problem_mark.line))
        why += "; the line begins with a tab, but only spaces indent";
    refuse(place_of(parser_.problem_mark), why);
}

std::string Reader::read_scalar(const Event &event) {
    std::string_view value = event.scalar();
    if (value.find('\0') != std::string_view::npos) refuse(event.place(), "a NUL character in a value");
    return std::string(value);
}

std::string Reader::new_key(const std::string &prefix, const Event &event) {
    if (event.type() != YAML_SCALAR_EVENT) refuse(event.place(), "a key must be a plain word, not a list or mapping");
    std::string word = read_scalar(event);
    if (word.empty()) refuse(event.place(), "a key is missing before the colon");
    std::string key = prefix.empty() ? word : mdist::text(prefix, '.', word);
    if (key.size() > kMostKeyBytes)
        refuse(event.place(), mdist::text("this key has more than ", kMostKeyBytes, " bytes"));
    auto [first, is_new] = seen_.try_emplace(key, event.place());
    if (!is_new)
        refuse(event.place(), mdist::text("key ", in_quotes(key), " is given again; it was first given at line ",
                                          first->second.line, ", column ", first->second.column));
    return key;
}

std::vector<std::string> Reader::read_list() {
    std::vector<std::string> values;
    for (;;) {
        Event event;
        next(event);
        if (event.type() == YAML_SEQUENCE_END_EVENT) return values;
        if (event.type() != YAML_SCALAR_EVENT)
            refuse(event.place(), "a list may hold only plain values, not lists or mappings");
        values.push_back(read_scalar(event));
    }
}

void Reader::read_value(std::string key, Place key_place, int depth) {
    Event event;
    next(event);
    Entry entry{std::move(key), {}, false, key_place, event.place()};
    if (event.type() == YAML_MAPPING_START_EVENT) {
        if (depth == kMostDepth) refuse(event.place(), mdist::text("nested deeper than ", kMostDepth, " mappings"));
        return read_mapping(entry.key, depth + 1);
    }
    if (event.type() == YAML_SEQUENCE_START_EVENT) {
        entry.is_list = true;
        entry.values = read_list();
    } else {
        entry.values.push_back(read_scalar(event));
    }
    entries_.push_back(std::move(entry));
}

void Reader::read_mapping(const std::string &prefix, int depth) {
    for (;;) {
        std::string key;
        Place key_place;
        {
            Event event;
            next(event);
            if (event.type() == YAML_MAPPING_END_EVENT) return;
            key = new_key(prefix, event);
            key_place = event.place();
        }
        read_value(std::move(key), key_place, depth);
    }
}

std::vector<Entry> Reader::read() {
    Event stream_start, document_start, root, document_end, after;
    next(stream_start);
    next(document_start);
    if (document_start.type() == YAML_STREAM_END_EVENT) return {};
    if (document_start.has_tag_directives()) refuse(document_start.place(), "tag directives (%TAG) are not supported");
    next(root);
    bool nothing = root.type() == YAML_SCALAR_EVENT && !root.is_quoted() &&
                   (root.scalar().empty() || root.scalar() == "~" || root.scalar() == "null");
    if (root.type() == YAML_MAPPING_START_EVENT)
        read_mapping("", 1);
    else if (!nothing)
        refuse(root.place(), "the text must be a mapping: lines of \"key: value\"");
    next(document_end);
    next(after);
    if (after.type() != YAML_STREAM_END_EVENT)
        refuse(after.place(), "a second document begins here; only one is allowed");
    return std::move(entries_);
}

} // namespace

std::string place_text(std::string_view name, Place place) {
    return mdist::text(name, ':', place.line, ':', place.column);
}

std::vector<Entry> read(std::string_view text, std::string_view name) {
    // libyaml would count a byte order mark as a column, and therefore as indentation of the first line.
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    check_bytes(text, name);
    // An empty text may have a null address, and libyaml asserts that there is none.
    if (text.empty()) return {};
    return Reader(text, name).read();
}

} // namespace mdist::yaml

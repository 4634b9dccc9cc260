// SPDX-License-Identifier: Apache-2.0
#include "help/page.h"

#include <sstream>

namespace mdist {
namespace {

constexpr std::size_t kWidth = 80, kTextColumn = 26;

/// The words of a text in lines, all but the first indented. The first begins at `column`.
std::string wrapped(const std::string &text, std::size_t column, std::size_t indent) {
    std::string out;
    std::istringstream words(text);
    bool first = true;
    for (std::string word; words >> word; first = false) {
        if (!first && column + 1 + word.size() > kWidth) {
            out += "\n" + std::string(indent, ' ');
            column = indent;
        } else if (!first) {
            out += ' ';
            ++column;
        }
        out += word;
        column += word.size();
    }
    return out;
}

std::string left_of(const Entry &entry) {
    std::string left = "  ";
    for (const std::string &name : entry.names) left += (left.size() == 2 ? "" : ", ") + name;
    if (!entry.value.empty() && entry.names[0].starts_with('-')) left += " " + entry.value;
    return left;
}

std::string line_of(const Entry &entry) {
    std::string line = left_of(entry);
    if (line.size() + 2 > kTextColumn)
        line += "\n" + std::string(kTextColumn, ' ');
    else
        line.resize(kTextColumn, ' ');
    return line + wrapped(entry.text, kTextColumn, kTextColumn) + "\n";
}

} // namespace

std::string help_text(const Page &page) {
    std::string out = wrapped(page.summary, 0, 0) + ".\n\nUsage: " + page.usage + "\n";
    for (const Section &section : page.sections) {
        out += "\n" + section.title + ":\n";
        for (const Entry &entry : section.entries) out += line_of(entry);
    }
    for (const std::string &paragraph : page.paragraphs)
        out += "\n" + (paragraph.starts_with("    ") ? paragraph : wrapped(paragraph, 0, 0)) + "\n";
    return out;
}

} // namespace mdist

// SPDX-License-Identifier: Apache-2.0
#include "help/page.h"

#include <algorithm>
#include <cctype>

namespace mdist {
namespace {

/// A text that man(7) shows as it is: hyphens stay hyphens, and no line is a request.
std::string plain(const std::string &text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\')
            out += "\\e";
        else if (c == '-')
            out += "\\-";
        else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n'))
            out += std::string("\\&") + c;
        else
            out += c;
    }
    return out;
}

std::string upper(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
    return text;
}

std::string heading_of(const Entry &entry) {
    std::string line;
    for (const std::string &name : entry.names) line += (line.empty() ? "\\fB" : ", \\fB") + plain(name) + "\\fR";
    if (!entry.value.empty() && entry.names[0].starts_with('-')) line += " \\fI" + plain(entry.value) + "\\fR";
    return ".TP\n" + line + "\n";
}

} // namespace

std::string manual_page(const Page &page, const std::string &version) {
    std::string name = page.command;
    std::replace(name.begin(), name.end(), ' ', '-');
    std::string out = ".TH " + upper(plain(name)) + " 1 \"\" \"" + plain(version) + "\" \"libmdist\"\n";
    out += ".SH NAME\n" + plain(name) + " \\- " + plain(page.summary) + "\n";
    out += ".SH SYNOPSIS\n" + plain(page.usage) + "\n";
    for (const Section &section : page.sections) {
        out += ".SH " + upper(plain(section.title)) + "\n";
        for (const Entry &entry : section.entries) out += heading_of(entry) + plain(entry.text) + "\n";
    }
    if (!page.paragraphs.empty()) out += ".SH NOTES\n";
    for (const std::string &paragraph : page.paragraphs) {
        const bool as_it_is = paragraph.starts_with("    ");
        out += std::string(".PP\n") + (as_it_is ? ".nf\n" : "") + plain(paragraph) + (as_it_is ? "\n.fi\n" : "\n");
    }
    return out;
}

} // namespace mdist

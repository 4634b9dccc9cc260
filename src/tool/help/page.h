// SPDX-License-Identifier: Apache-2.0
// Page: what there is to say about a command, read from its parser. Help texts, manual pages and completions are made
// from it, so that they cannot differ. Main thread.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace mdist {

/// An option, an argument or a command.
struct Entry {
    std::vector<std::string> names; // "-n", "--workers"
    std::string value;              // "N", "SECONDS=15"; "" for a flag
    std::string text;
};

struct Section {
    std::string title;
    std::vector<Entry> entries;
};

struct Page {
    std::string command; // "mdist launch"
    std::string summary;
    std::string usage;
    std::vector<Section> sections;
    std::vector<std::string> paragraphs; // one whose lines are indented by four blanks is shown as it is
};

Page page_of(const CLI::App &app);

/// The page for a terminal: at most 80 columns.
std::string help_text(const Page &page);

/// The page in the language of man(7).
std::string manual_page(const Page &page, const std::string &version);

} // namespace mdist

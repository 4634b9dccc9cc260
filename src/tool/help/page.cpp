// SPDX-License-Identifier: Apache-2.0
#include "help/page.h"

#include <sstream>

#include <CLI/CLI.hpp>

namespace mdist {
namespace {

Entry entry_of(const CLI::Option &option) {
    Entry entry;
    for (const std::string &name : option.get_snames()) entry.names.push_back("-" + name);
    for (const std::string &name : option.get_lnames()) entry.names.push_back("--" + name);
    if (option.get_type_size() != 0) {
        entry.value = option.get_type_name();
        if (!option.get_default_str().empty()) entry.value += "=" + option.get_default_str();
    }
    if (option.get_positional()) entry.names.assign(1, option.get_type_name());
    entry.text = option.get_description();
    return entry;
}

/// Options and arguments, group by group.
std::vector<Section> sections_of(const CLI::App &app) {
    std::vector<Section> sections;
    for (const std::string &group : app.get_groups()) {
        Section section{group, {}};
        for (const CLI::Option *option : app.get_options())
            if (option->get_group() == group) section.entries.push_back(entry_of(*option));
        if (!section.entries.empty()) sections.push_back(std::move(section));
    }
    return sections;
}

Section commands_of(const CLI::App &app) {
    Section commands{"Commands", {}};
    for (const CLI::App *each : app.get_subcommands(nullptr))
        commands.entries.push_back({{each->get_name()}, "", each->get_description()});
    return commands;
}

std::string usage_of(const CLI::App &app, const std::string &command) {
    std::string usage = command + " [OPTION...]";
    for (const CLI::Option *option : app.get_options())
        if (option->get_positional())
            usage += option->get_required() ? " " + option->get_type_name() : " [" + option->get_type_name() + "]";
    if (!app.get_subcommands(nullptr).empty()) usage += " COMMAND";
    // The parser does not know of them: take_program() has them before it.
    if (app.get_name() == "launch") usage += " [--] PROGRAM [ARGUMENT...]";
    return usage;
}

std::vector<std::string> paragraphs_of(const std::string &text) {
    std::vector<std::string> paragraphs;
    std::istringstream lines(text);
    bool inside = false;
    for (std::string line; std::getline(lines, line); inside = !line.empty()) {
        if (line.empty()) continue;
        if (inside)
            paragraphs.back() += "\n" + line;
        else
            paragraphs.push_back(line);
    }
    return paragraphs;
}

} // namespace

Page page_of(const CLI::App &app) {
    Page page;
    page.command = app.get_parent() == nullptr ? app.get_name() : app.get_parent()->get_name() + " " + app.get_name();
    page.summary = app.get_description();
    page.usage = usage_of(app, page.command);
    page.sections = sections_of(app);
    const Section commands = commands_of(app);
    if (!commands.entries.empty()) page.sections.insert(page.sections.begin(), commands);
    page.paragraphs = paragraphs_of(app.get_footer());
    return page;
}

} // namespace mdist

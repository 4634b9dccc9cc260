// SPDX-License-Identifier: Apache-2.0
#include "help/completions.h"

#include <functional>
#include <map>

namespace mdist {
namespace {

constexpr const char *kNote = "# Made by `mdist completions`.\n";

std::string command_of(const Page &page) {
    return page.command.substr(page.command.find(' ') + 1);
}

bool is_option(const Entry &entry) {
    return entry.names[0].starts_with('-');
}

/// Calls `use` for every option of a page.
void for_options(const Page &page, const std::function<void(const Entry &)> &use) {
    for (const Section &section : page.sections)
        for (const Entry &entry : section.entries)
            if (is_option(entry)) use(entry);
}

/// With a backslash before each of the special characters.
std::string escaped(const std::string &text, const std::string &special) {
    std::string out;
    for (const char c : text) {
        if (special.find(c) != std::string::npos) out += '\\';
        out += c;
    }
    return out;
}

/// In single quotes, for bash and zsh.
std::string quoted(const std::string &text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

std::string quoted_for_fish(const std::string &text) {
    return "'" + escaped(text, "\\'") + "'";
}

/// The words that may stand behind a command. Where an option takes a value, or no word fits, bash offers files.
std::string bash(const std::vector<Page> &pages) {
    std::string words, values, cases;
    for (std::size_t i = 0; i < pages.size(); ++i) {
        const std::string command = i == 0 ? "" : command_of(pages[i]);
        std::string options;
        for_options(pages[i], [&](const Entry &entry) {
            for (const std::string &name : entry.names) {
                options += (options.empty() ? "" : " ") + name;
                if (!entry.value.empty()) values += (values.empty() ? "" : " | ") + command + ":" + name;
            }
        });
        if (i == 0)
            words = options;
        else
            cases += "    " + command + ") words='" + options + "' ;;\n";
        if (i != 0) words += " " + command;
    }
    return std::string(kNote) + "_mdist() {\n" +
           "    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words=''\n" +
           "    COMPREPLY=()\n"
           "    if ((COMP_CWORD == 1)); then\n"
           "        mapfile -t COMPREPLY < <(compgen -W '" +
           words + "' -- \"$word\")\n        return\n    fi\n" +
           "    case $command:${COMP_WORDS[COMP_CWORD - 1]} in\n    " + values + ") return ;;\n    esac\n" +
           "    case $command in\n" + cases + "    esac\n" +
           "    [[ $word != -* ]] || mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
           "}\ncomplete -o default -F _mdist mdist\n";
}

std::string zsh_option(const Entry &entry) {
    std::string out, others;
    for (const std::string &name : entry.names) others += (others.empty() ? "" : " ") + name;
    const std::string value = entry.value.substr(0, entry.value.find('='));
    for (const std::string &name : entry.names)
        out += " \\\n            " +
               quoted((entry.names.size() > 1 ? "(" + others + ")" : "") + name + "[" + escaped(entry.text, "[]\\") +
                      "]" + (value.empty() ? "" : ":" + escaped(value, ":") + ":_files"));
    return out;
}

std::string zsh(const std::vector<Page> &pages) {
    std::string commands, cases;
    for (std::size_t i = 1; i < pages.size(); ++i) {
        const std::string command = command_of(pages[i]);
        commands += "        " + quoted(command + ":" + pages[i].summary) + "\n";
        cases += "    " + command + ")\n        _arguments";
        for_options(pages[i], [&](const Entry &entry) { cases += zsh_option(entry); });
        cases +=
            " \\\n            " + std::string(command == "launch" ? "'*:: :_normal'" : "'*:file:_files'") + " ;;\n";
    }
    return "#compdef mdist\n" + std::string(kNote) + "_mdist() {\n    local -a commands=(\n" + commands + "    )\n" +
           "    if ((CURRENT == 2)); then\n        _describe command commands\n        return\n    fi\n" +
           "    local command=$words[2]\n    shift words\n    ((CURRENT--))\n    case $command in\n" + cases +
           "    esac\n}\nif [[ $funcstack[1] == _mdist ]]; then\n    _mdist \"$@\"\nelse\n    compdef _mdist "
           "mdist\nfi\n";
}

std::string fish(const std::vector<Page> &pages) {
    std::string out = kNote;
    for (std::size_t i = 1; i < pages.size(); ++i) {
        const std::string command = command_of(pages[i]);
        out += "complete -c mdist -n __fish_use_subcommand -f -a " + command + " -d " +
               quoted_for_fish(pages[i].summary) + "\n";
        for_options(pages[i], [&](const Entry &entry) {
            out += "complete -c mdist -n '__fish_seen_subcommand_from " + command + "'";
            for (const std::string &name : entry.names)
                out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
            out += std::string(entry.value.empty() ? "" : " -r") + " -d " + quoted_for_fish(entry.text) + "\n";
        });
    }
    return out;
}

} // namespace

std::string completions_for(const std::string &shell, const std::vector<Page> &pages) {
    const std::map<std::string, std::string (*)(const std::vector<Page> &)> shells = {
        {"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    const auto found = shells.find(shell);
    return found == shells.end() ? "" : found->second(pages);
}

} // namespace mdist

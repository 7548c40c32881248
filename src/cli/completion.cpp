#include <algorithm>
#include <fmt/format.h>

#include "cli/app.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/screen.h"

namespace holdfast::cli {
namespace {

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words)
        text += (text.empty() ? "" : " ") + word;
    return text;
}

/// In single quotes, as sh, zsh and fish all read them.
std::string in_quotes(const std::string& text) {
    std::string safe = "'";
    for (const char c : text)
        safe += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return safe + "'";
}

std::vector<std::string> option_names(const CommandShape& command) {
    std::vector<std::string> names;
    for (const OptionShape& option : command.options)
        names.push_back(option.name);
    return names;
}

std::vector<std::string> command_names(const CommandShape& command) {
    std::vector<std::string> names;
    for (const CommandShape& one : command.commands)
        names.push_back(one.name);
    return names;
}

/// The words that may follow a command, other than options.
std::vector<std::string> words_after(const CommandShape& command) {
    std::vector<std::string> words = command_names(command);
    words.insert(words.end(), command.choices.begin(), command.choices.end());
    return words;
}

struct Place {
    const CommandShape& command;
    std::string path;  ///< `policy set`; empty for the root
};

/// Every command with its path, the root first.
std::vector<Place> places(const CommandShape& command, const std::string& path = "") {
    std::vector<Place> all{{command, path}};
    for (const CommandShape& one : command.commands)
        for (const Place& place : places(one, path.empty() ? one.name : path + " " + one.name))
            all.push_back(place);
    return all;
}

/// `--option) choices` for every option that takes a value, once.
std::string bash_values(const CommandShape& root) {
    std::string text;
    std::vector<std::string> seen;
    for (const Place& place : places(root)) {
        for (const OptionShape& option : place.command.options) {
            const bool known = std::find(seen.begin(), seen.end(), option.name) != seen.end();
            if (!option.takes_value || option.name == "--wait" || known) continue;
            seen.push_back(option.name);
            const bool is_path = option.name == "--config" || option.name == "--state-dir";
            const std::string reply = !option.choices.empty() ? fmt::format("COMPREPLY=($(compgen -W {} -- \"$cur\"))",
                                                                            in_quotes(joined(option.choices)))
                                      : is_path               ? "COMPREPLY=($(compgen -f -- \"$cur\"))"
                                                              : "COMPREPLY=()";
            text += fmt::format("        {}) {}; return ;;\n", option.name, reply);
        }
    }
    return text;
}

/// `'--ttl[how long]:value:(a b)'`, with zsh's special characters escaped.
std::string zsh_option(const OptionShape& option) {
    std::string description;
    for (const char c : option.description)
        if (c != '[' && c != ']') description += c == ':' ? ',' : c;
    const bool needs_value = option.takes_value && option.name != "--wait";
    std::string text = fmt::format("{}{}[{}]", option.name, needs_value ? "=" : "", description);
    if (needs_value) {
        text += ":value:";
        if (!option.choices.empty()) text += fmt::format("({})", joined(option.choices));
        if (option.name == "--config" || option.name == "--state-dir") text += "_files";
    }
    return in_quotes(text);
}

std::string zsh_function_name(const std::string& path) {
    std::string name = "_holdfast";
    for (const char c : path.empty() ? "" : " " + path)
        name += c == ' ' ? '_' : c;
    return name;
}

std::string zsh_function(const Place& place, const CommandShape& root) {
    std::string text = zsh_function_name(place.path) + "() {\n";
    const bool has_commands = !place.command.commands.empty();
    text += "    local -a commands\n";
    text += "    _arguments -S";
    for (const OptionShape& option : place.command.options)
        text += " \\\n        " + zsh_option(option);
    if (!place.path.empty())
        for (const OptionShape& option : root.options)
            if (option.name != "--help" && option.name != "--version") text += " \\\n        " + zsh_option(option);
    if (has_commands) text += " \\\n        '1: :->command' '*:: :->rest'";
    if (!place.command.choices.empty())
        text += fmt::format(" \\\n        '1:which:({})'", joined(place.command.choices));
    if (place.path == "run") text += " \\\n        '*:resource:'";
    text += "\n";
    if (has_commands) {
        text += "    case $state in\n    command)\n        commands=(\n";
        for (const CommandShape& one : place.command.commands)
            text += fmt::format("            {}\n", in_quotes(fmt::format("{}:{}", one.name, one.description)));
        text += "        )\n        _describe command commands ;;\n    rest)\n        case $words[1] in\n";
        for (const CommandShape& one : place.command.commands)
            text += fmt::format("        {}) {} ;;\n", one.name,
                                zsh_function_name(place.path.empty() ? one.name : place.path + " " + one.name));
        text += "        esac ;;\n    esac\n";
    }
    return text + "}\n";
}

std::string fish_option(const OptionShape& option, const std::string& condition) {
    std::string text = fmt::format("complete -c holdfast{} -l {} -d {}", condition, option.name.substr(2),
                                   in_quotes(option.description));
    const bool is_path = option.name == "--config" || option.name == "--state-dir";
    if (option.takes_value && option.name != "--wait") text += is_path ? " -r -F" : " -x";
    if (!option.choices.empty()) text += " -a " + in_quotes(joined(option.choices));
    return text + "\n";
}

}  // namespace

std::string bash_completion(const CommandShape& root) {
    std::string text =
        "# bash completion for holdfast\n"
        "_holdfast() {\n"
        "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path='' word i\n"
        "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
        "        word=${COMP_WORDS[i]}\n"
        "        if [[ $word == -- && $path == run ]]; then\n"
        "            _command_offset $((i + 1)) 2>/dev/null || COMPREPLY=($(compgen -c -- \"$cur\"))\n"
        "            return\n"
        "        fi\n"
        "        case \"$path|$word\" in\n";
    for (const Place& place : places(root))
        if (!place.path.empty()) {
            const std::size_t last = place.path.rfind(' ');
            const std::string parent = last == std::string::npos ? "" : place.path.substr(0, last);
            text += fmt::format("        {}) path={} ;;\n", in_quotes(parent + "|" + place.command.name),
                                in_quotes(place.path));
        }
    text += "        esac\n    done\n    case $prev in\n" + bash_values(root) + "    esac\n    case $path in\n";
    const std::string common = joined(option_names(root));
    for (const Place& place : places(root)) {
        const std::string options = place.path.empty() ? common : joined(option_names(place.command)) + " " + common;
        text += fmt::format(
            "    {}) if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W {} -- \"$cur\")); "
            "else COMPREPLY=($(compgen -W {} -- \"$cur\")); fi ;;\n",
            in_quotes(place.path), in_quotes(options), in_quotes(joined(words_after(place.command))));
    }
    return text + "    esac\n}\ncomplete -F _holdfast holdfast\n";
}

std::string zsh_completion(const CommandShape& root) {
    std::string text = "#compdef holdfast\n";
    for (const Place& place : places(root))
        text += zsh_function(place, root);
    return text + "_holdfast \"$@\"\n";
}

std::string fish_completion(const CommandShape& root) {
    std::string text = "# fish completion for holdfast\ncomplete -c holdfast -f\n";
    for (const OptionShape& option : root.options)
        text += fish_option(option, "");
    for (const Place& place : places(root)) {
        const std::size_t last = place.path.rfind(' ');
        const std::string parent = last == std::string::npos ? "" : place.path.substr(0, last);
        std::string condition = " -n __fish_use_subcommand";
        if (!parent.empty()) condition = fmt::format(" -n '__fish_seen_subcommand_from {}'", parent);
        if (place.path.empty()) continue;
        text += fmt::format("complete -c holdfast{} -a {} -d {}\n", condition, place.command.name,
                            in_quotes(place.command.description));
        const std::string inside = fmt::format(" -n '__fish_seen_subcommand_from {}'", place.command.name);
        for (const OptionShape& option : place.command.options)
            text += fish_option(option, inside);
        if (!place.command.choices.empty())
            text += fmt::format("complete -c holdfast{} -a {}\n", inside, in_quotes(joined(place.command.choices)));
    }
    return text +
           "complete -c holdfast -n 'contains -- -- (commandline -opc)' -xa "
           "'(complete -C(string replace -r \"^.*? -- \" \"\" -- (commandline -cp)))'\n";
}

int completion_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    const CommandShape root = command_shape();
    const std::string script = arguments.shell == "bash"  ? bash_completion(root)
                               : arguments.shell == "zsh" ? zsh_completion(root)
                                                          : fish_completion(root);
    if (screen.json())
        screen.show(JsonValue::object({{"shell", arguments.shell}, {"script", script}}));
    else
        screen.text(std::string_view{script}.substr(0, script.size() - 1));  // text() adds the line end
    return exit_ok;
}

}  // namespace holdfast::cli

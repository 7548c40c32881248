#include "cli/screen.h"

#include <cstdlib>
#include <fmt/format.h>
#include <iostream>
#include <unistd.h>

namespace holdfast::cli {
namespace {

bool wants_colours() {
    const char* no_colour = std::getenv("NO_COLOR");
    const char* terminal = std::getenv("TERM");
    if (no_colour != nullptr && *no_colour != '\0') return false;
    if (terminal != nullptr && std::string_view{terminal} == "dumb") return false;
    return isatty(STDOUT_FILENO) == 1;
}

/// One write per line, so that lines of several processes do not mix.
void write_error(const std::string& line) {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

void print_to_stderr(std::string_view text) {
    write_error(fmt::format("holdfast: {}\n", printable(text)));
}

}  // namespace

JsonValue error_object(const Error& error) {
    return JsonValue::object({{"error", JsonValue::object({{"code", error.code.name()}, {"message", error.message}})}});
}

Screen::Screen(const CommonOptions& options) : json_(options.json), quiet_(options.quiet), colours_(wants_colours()) {}

void Screen::show(const JsonValue& answer) const {
    text(to_text(answer));
}

void Screen::show(const Table& table) const {
    std::cout << table.to_text(colours_) << std::flush;
}

void Screen::line(std::string_view text) const {
    this->text(colours_ ? printable_line(text) : printable(text));
}

void Screen::text(std::string_view text) const {
    std::cout << text << '\n' << std::flush;
}

void Screen::note(std::string_view text) const {
    if (!quiet_) print_to_stderr(text);
}

void Screen::complain(std::string_view text) const {
    print_to_stderr(text);
}

void Screen::complain(const Error& error, std::optional<std::chrono::milliseconds> retry_in) const {
    if (!json_) return print_to_stderr(error.message);
    JsonValue object = error_object(error);
    if (retry_in) object.set("retry_in_ms", retry_in->count());
    write_error(to_text(object) + "\n");
}

}  // namespace holdfast::cli

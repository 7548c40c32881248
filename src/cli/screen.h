#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "cli/options.h"
#include "cli/table.h"

namespace holdfast::cli {

/// `{"error": {"code": …, "message": …}}`, as servers answer too.
JsonValue error_object(const Error& error);

/// The output of a command: results to standard output, notes and errors to standard error with the prefix `holdfast:
/// `. With --json the answer, also an error, is one JSON object on one line of standard output. Untrusted text is
/// escaped here (printable()), so that no command lets control sequences reach a terminal.
class Screen {
 public:
    explicit Screen(const CommonOptions& options);

    bool json() const { return json_; }
    /// Colours are for terminals, and only without NO_COLOR.
    bool colours() const { return colours_; }

    void show(const JsonValue& answer) const;
    void show(const Table& table) const;
    /// A line for people. Control sequences are escaped, except for the colours of coloured().
    void line(std::string_view text) const;
    /// Prints text unescaped. REQUIRES: the text is this program's own.
    void text(std::string_view text) const;

    /// For people; silent with --quiet.
    void note(std::string_view text) const;
    /// Printed even with --quiet.
    void complain(std::string_view text) const;
    /// For `run`, whose standard output is its command's: with --json the error is an object on standard error.
    void complain(const Error& error, std::optional<std::chrono::milliseconds> retry_in = {}) const;

 private:
    bool json_;
    bool quiet_;
    bool colours_;
};

}  // namespace holdfast::cli

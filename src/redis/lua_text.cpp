#include "redis/lua_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <vector>

namespace holdfast::redis {
namespace {

struct Piece {
    enum class Kind { name, text, other } kind;
    std::string text;

    bool is(std::string_view what) const { return kind != Kind::text && text == what; }
};
using Pieces = std::vector<Piece>;
constexpr std::size_t max_pieces = 500;

bool is_name_byte(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Splits a script into tokens.
class Cutter {
 public:
    explicit Cutter(std::string_view script) : rest_(script) {}

    std::optional<Pieces> cut() {
        while (skip_blanks(), !rest_.empty())
            if (pieces_.size() == max_pieces || !cut_one()) return std::nullopt;
        return std::move(pieces_);
    }

 private:
    void skip_blanks() {
        while (!rest_.empty()) {
            if (std::isspace(static_cast<unsigned char>(rest_.front())) != 0 || rest_.front() == ';')
                rest_.remove_prefix(1);
            else if (rest_.starts_with("--[["))
                skip_past("]]");
            else if (rest_.starts_with("--"))
                skip_past("\n");
            else
                return;
        }
    }
    void skip_past(std::string_view end) {
        const std::size_t found = rest_.find(end);
        rest_.remove_prefix(found == std::string_view::npos ? rest_.size() : found + end.size());
    }

    bool cut_one() {
        const char c = rest_.front();
        if (c == '"' || c == '\'') return cut_text(c);
        if (is_name_byte(c)) {
            add(Piece::Kind::name,
                static_cast<std::size_t>(std::find_if_not(rest_.begin(), rest_.end(), is_name_byte) - rest_.begin()));
            return true;
        }
        const bool two =
            rest_.size() > 1 && rest_[1] == '=' && std::string_view("=~<>").find(c) != std::string_view::npos;
        add(Piece::Kind::other, two ? 2 : 1);
        return true;
    }

    /// No known lock script has strings with escapes.
    bool cut_text(char quote) {
        const std::size_t end = rest_.find(quote, 1);
        if (end == std::string_view::npos) return false;
        const std::string_view text = rest_.substr(1, end - 1);
        if (text.find_first_of("\\\n\"") != std::string_view::npos) return false;
        pieces_.push_back({Piece::Kind::text, std::string(text)});
        rest_.remove_prefix(end + 1);
        return true;
    }

    void add(Piece::Kind kind, std::size_t size) {
        pieces_.push_back({kind, std::string(rest_.substr(0, size))});
        rest_.remove_prefix(size);
    }

    std::string_view rest_;
    Pieces pieces_;
};

/// The parenthesis that closes the one at `open`, or the end.
std::size_t closing(const Pieces& pieces, std::size_t open) {
    std::size_t depth = 0;
    for (std::size_t i = open; i < pieces.size(); ++i) {
        if (pieces[i].is("(")) ++depth;
        if (pieces[i].is(")") && --depth == 0) return i;
    }
    return pieces.size();
}

void erase_pair(Pieces& pieces, std::size_t open, std::size_t close) {
    pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(close));
    pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(open));
}

/// Drops the parentheses of `if (condition) then` and `tonumber(x)`, which do not matter.
void drop_brackets(Pieces& pieces) {
    std::size_t i = 0;
    while (i + 1 < pieces.size()) {
        const bool number = pieces[i].is("tonumber");
        const bool condition = pieces[i].is("if") || pieces[i].is("elseif");
        const std::size_t close = (number || condition) && pieces[i + 1].is("(") ? closing(pieces, i + 1) : 0;
        const bool whole = close != 0 && close + 1 < pieces.size() && (number || pieces[close + 1].is("then"));
        if (!whole) {
            ++i;
            continue;
        }
        erase_pair(pieces, i + 1, close);
        if (number) pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

/// The first argument of redis.call is a command name, which is case-insensitive.
void settle_calls(Pieces& pieces) {
    for (std::size_t i = 0; i + 4 < pieces.size(); ++i) {
        if (!pieces[i].is("redis") || !pieces[i + 1].is(".")) continue;
        if (pieces[i + 2].is("pcall")) pieces[i + 2].text = "call";
        Piece& command = pieces[i + 4];
        if (command.kind != Piece::Kind::text) continue;
        std::transform(command.text.begin(), command.text.end(), command.text.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    }
}

constexpr std::array<std::string_view, 24> kept_names{
    "and", "break", "do", "else",   "elseif", "end",  "false", "for",   "function", "if",   "in",   "local",
    "nil", "not",   "or", "repeat", "return", "then", "true",  "while", "redis",    "KEYS", "ARGV", "ipairs"};

/// Names after a dot and numbers are not locals.
void number_locals(Pieces& pieces) {
    std::vector<std::string> seen;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        Piece& piece = pieces[i];
        if (piece.kind != Piece::Kind::name || std::isdigit(static_cast<unsigned char>(piece.text[0])) != 0) continue;
        if (i > 0 && pieces[i - 1].is(".")) continue;
        if (std::find(kept_names.begin(), kept_names.end(), piece.text) != kept_names.end()) continue;
        auto found = std::find(seen.begin(), seen.end(), piece.text);
        if (found == seen.end()) found = seen.insert(seen.end(), piece.text);
        piece.text = "v" + std::to_string(found - seen.begin());
    }
}

}  // namespace

std::string normal_form(std::string_view script) {
    if (script.size() > max_script_bytes) return {};
    auto pieces = Cutter(script).cut();
    if (!pieces) return {};
    drop_brackets(*pieces);
    settle_calls(*pieces);
    number_locals(*pieces);
    std::string form;
    for (const Piece& piece : *pieces) {
        if (!form.empty()) form += ' ';
        form += piece.kind == Piece::Kind::text ? '"' + piece.text + '"' : piece.text;
    }
    return form;
}

}  // namespace holdfast::redis

#include "base/glob.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace holdfast::inline base {
namespace {

unsigned char byte(char c) {
    return static_cast<unsigned char>(c);
}

/// Consumes a set, without its opening bracket, from the front of the pattern. Returns true if it contains the byte.
bool take_set(std::string_view& pattern, unsigned char wanted) {
    const bool negated = pattern.starts_with('^');
    if (negated) pattern.remove_prefix(1);
    bool found = false;
    while (!pattern.empty() && pattern.front() != ']') {
        if (pattern.front() == '\\' && pattern.size() > 1) {
            found |= byte(pattern[1]) == wanted;
            pattern.remove_prefix(2);
        } else if (pattern.size() > 2 && pattern[1] == '-') {
            auto range = std::pair(byte(pattern[0]), byte(pattern[2]));
            if (range.first > range.second) std::swap(range.first, range.second);
            found |= range.first <= wanted && wanted <= range.second;
            pattern.remove_prefix(3);
        } else {
            found |= byte(pattern.front()) == wanted;
            pattern.remove_prefix(1);
        }
    }
    if (!pattern.empty()) pattern.remove_prefix(1);
    return found != negated;
}

/// Consumes the pattern element for one byte from the front of the pattern. Returns true if it matches this byte.
bool take_one(std::string_view& pattern, unsigned char wanted) {
    const char c = pattern.front();
    pattern.remove_prefix(1);
    if (c == '?') return true;
    if (c == '[') return take_set(pattern, wanted);
    if (c != '\\' || pattern.empty()) return byte(c) == wanted;
    const char escaped = pattern.front();
    pattern.remove_prefix(1);
    return byte(escaped) == wanted;
}

/// Subtracts `spent`, down to 0. Returns false if nothing is left.
bool spend(std::uint64_t& steps, std::size_t spent) {
    steps -= std::min<std::uint64_t>(steps, spent);
    return steps > 0;
}

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view text) {
    std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
    return glob_matches(pattern, text, unlimited);
}

bool glob_matches(std::string_view pattern, std::string_view text, std::uint64_t& steps) {
    // Once a later star is reached, the choices of earlier stars no longer matter: backtracking to the last star is
    // enough.
    std::string_view after_star;
    std::string_view text_at_star;
    bool starred = false;
    while (true) {
        const std::size_t unread = pattern.size();
        if (pattern.starts_with('*')) {
            pattern.remove_prefix(std::min(pattern.find_first_not_of('*'), unread));
            if (!spend(steps, unread - pattern.size())) return false;
            if (pattern.empty()) return true;
            after_star = pattern;
            text_at_star = text;
            starred = true;
            continue;
        }
        if (pattern.empty() && text.empty()) return true;
        const bool taken = !pattern.empty() && !text.empty() && take_one(pattern, byte(text.front()));
        if (!spend(steps, unread - pattern.size() + 1)) return false;
        if (taken) {
            text.remove_prefix(1);
            continue;
        }
        if (!starred || text_at_star.empty()) return false;
        text_at_star.remove_prefix(1);
        pattern = after_star;
        text = text_at_star;
    }
}

std::string_view glob_prefix(std::string_view pattern) {
    return pattern.substr(0, pattern.find_first_of("*?[\\"));
}

}  // namespace holdfast::inline base

#include "client/sessions/instance_id.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <fmt/format.h>
#include <unistd.h>

#include "base/random.h"
#include "base/text.h"

namespace holdfast::client::sessions {

namespace {

constexpr std::size_t max_session_bytes = 256;
constexpr std::size_t max_instance_bytes = 256;

bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool is_blank_or_control(char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == 0x7f;
}

}  // namespace

std::string fresh_instance_id() {
    std::array<char, 65> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0 || host[0] == '\0') host = {'h', 'o', 's', 't'};
    const auto start = std::chrono::system_clock::now().time_since_epoch();
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(start).count();
    return fmt::format("{}-{}-{}", host.data(), ns, random_hex(4));
}

bool is_instance_id(std::string_view text) {
    if (text.size() > max_instance_bytes || std::ranges::any_of(text, is_blank_or_control)) return false;
    const auto last = text.rfind('-');
    if (last == std::string_view::npos || last == 0) return false;
    const auto middle = text.rfind('-', last - 1);
    if (middle == std::string_view::npos || middle == 0) return false;
    const auto random = text.substr(last + 1);
    return random.size() == 8 && std::ranges::all_of(random, is_hex) &&
           parse_number(text.substr(middle + 1, last - middle - 1)).has_value();
}

bool is_uuid(std::string_view text) {
    if (text.size() != 36) return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
        if (hyphen ? text[i] != '-' : !is_hex(text[i])) return false;
    }
    return true;
}

bool is_plain_session_id(std::string_view text) {
    return !text.empty() && text.size() <= max_session_bytes && std::ranges::none_of(text, is_blank_or_control);
}

}  // namespace holdfast::client::sessions

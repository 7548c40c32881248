#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace holdfast::net {

/// Returns the connections to close so that the remaining ones buffer at most `max_bytes` bytes in total: the largest
/// first, and no more than needed. Each connection has its own limits, but ten thousand connections together could
/// still buffer gigabytes.
///
/// `Sessions` maps to shared pointers to a type with held_bytes().
template <class Sessions>
std::vector<typename Sessions::mapped_type> over_buffer_limit(const Sessions& sessions, std::size_t max_bytes) {
    using Session = typename Sessions::mapped_type;
    std::vector<Session> found;
    std::size_t held = 0;
    for (const auto& entry : sessions)
        held += entry.second->held_bytes();
    if (held <= max_bytes) return found;
    std::vector<std::pair<std::size_t, Session>> all;
    all.reserve(sessions.size());
    for (const auto& entry : sessions)
        all.emplace_back(entry.second->held_bytes(), entry.second);
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (auto& [bytes, session] : all) {
        if (held <= max_bytes) break;
        held -= bytes;
        found.push_back(std::move(session));
    }
    return found;
}

}  // namespace holdfast::net

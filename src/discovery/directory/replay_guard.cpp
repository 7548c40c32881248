#include "discovery/directory/replay_guard.h"

#include <array>
#include <cstring>
#include <string>

namespace holdfast::discovery::directory {

ReplayGuard::Seen ReplayGuard::see(std::string_view identity, std::uint64_t nonce) {
    std::array<char, sizeof nonce> bytes{};
    std::memcpy(bytes.data(), &nonce, bytes.size());
    std::string text(bytes.data(), bytes.size());
    text += identity;
    const std::uint64_t hash = hash_text(parts_.key, text);
    if (young_.contains(hash) || old_.contains(hash)) return Seen::before;
    if (young_.size() >= parts_.per_generation) return Seen::full;
    if (young_.empty()) young_since_ = now_;
    young_.insert(hash);
    return Seen::fresh;
}

void ReplayGuard::advance(Instant now) {
    now_ = now;
    if (now < next_due()) return;
    // After twice the time, the younger generation is too old as well.
    const bool all = now >= young_since_ + 2 * parts_.remember;
    old_ = all ? Nonces{} : std::move(young_);
    young_ = Nonces{};
    young_since_ = now;
}

Instant ReplayGuard::next_due() const {
    return young_.empty() && old_.empty() ? Instant::max() : young_since_ + parts_.remember;
}

}  // namespace holdfast::discovery::directory

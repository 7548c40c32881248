#pragma once

#include <cstdint>
#include <string>

#include "base/random.h"
#include "codec/peer/peer_messages.h"

namespace holdfast::codec::peer {

inline constexpr std::size_t message_kinds =
    std::variant_size_v<store::quorum::QuorumMessage> + std::variant_size_v<consensus::LogMessage>;

/// Makes messages of every kind with every field anywhere in its range, also at its ends.
class RandomMessages {
 public:
    explicit RandomMessages(std::uint64_t seed) : random_(seed) {}

    /// A message of this kind, counted through the quorum's and then the log's.
    Message of_kind(std::size_t kind);
    store::quorum::QuorumMessage quorum(std::size_t kind);
    consensus::LogMessage log(std::size_t kind);
    store::cas::RelativeRecord record();

 private:
    bool flag() { return random_.below(2) == 0; }
    std::uint64_t number(std::uint64_t below);
    Instant instant();
    std::string text(std::size_t most);
    std::string name(std::size_t most) { return "n" + text(most - 1); }
    lease::Lease lease(lease::Token token);
    lease::Waiter waiter();
    store::quorum::Ballot ballot();
    consensus::LogBallot log_ballot();
    consensus::LogSnapshot snapshot();
    std::vector<consensus::LogDecree> decrees();
    store::quorum::ReadReply seen();

    Random random_;
};

/// Equal in every field.
bool same(const Message& a, const Message& b);

}  // namespace holdfast::codec::peer

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "doors/peer/founders.h"
#include "doors/peer/frames.h"
#include "doors/peer/refusal.h"
#include "store/quorum/ballot.h"

namespace holdfast::peer {

inline constexpr std::uint32_t protocol_version = 1;
inline constexpr std::size_t handshake_frame_bytes = 1024;

/// Who this node is, and what every member must agree on (Q12).
struct Terms {
    std::string secret;
    core::NodeIndex node = 0;
    core::BootNumber boot = 1;
    std::vector<std::string> members;  ///< their ids, in the order of their indices
    Duration longest_ttl{};
    double rho = 0;
    std::uint32_t protocol = protocol_version;
    const Founders* founders = nullptr;
};

/// How two nodes get to know each other, as a pure state machine: frames in, bytes out.
///
///     connector: nonce                        acceptor: nonce
///     connector: proof                        acceptor: proof, introduction
///     connector: introduction                 acceptor: welcome
///
/// A proof is an HMAC of both nonces under the secret, so that nothing recorded can be played again; neither says more
/// than its nonce and its proof before the other has proved that it knows the secret. From the introductions on every
/// frame is sealed. The keys of the frames that follow are made of both nonces, ids and boot numbers. Whoever refuses
/// says why, so that both ends know.
class Handshake {
 public:
    enum class Side : std::uint8_t { connector, acceptor };
    /// Asked about a peer that agrees in all else.
    using Admits = std::function<std::optional<Refusal>(Life peer)>;

    /// REQUIRES: the terms outlive it. `nonce`: 32 bytes that nobody can guess.
    Handshake(Side side, const Terms& terms, std::string nonce, Admits admits);
    ~Handshake();

    enum class State : std::uint8_t { under_way, done, refused, broken };
    State state() const;

    /// What to send before anything has come; empty for an acceptor.
    std::string begin();
    /// Takes a frame's body and returns what to send. REQUIRES: under way.
    std::string receive(std::string_view body);

    /// The other end, once it has introduced itself and is a member; one that refused before that has no boot number.
    std::optional<Life> peer() const;
    const Directories& directories() const;  ///< of the other end, likewise
    /// REQUIRES: refused.
    Refusal refusal() const;
    bool refused_by_peer() const;
    /// What is wrong with what came. REQUIRES: broken.
    const std::string& why_broken() const;

    /// For all that follows. REQUIRES: done.
    Sealer take_sealer();
    Opener take_opener();

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::peer

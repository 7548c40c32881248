#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "consensus/log_messages.h"
#include "store/quorum/messages.h"
#include "store/quorum/peer_lives.h"

namespace holdfast::codec::peer {

/// A message between nodes about leases or about the log. The connection knows the incarnations of both ends
/// (proto/peer.proto).
using Message = std::variant<store::quorum::QuorumMessage, consensus::LogMessage>;

inline constexpr std::size_t max_frame_bytes = 16 * 1024 * 1024;
inline constexpr std::size_t max_messages = 1 << 18;  ///< in one frame
inline constexpr std::size_t max_members = 7;
inline constexpr std::size_t max_seen = 16'384;            ///< entries in one ReadReply
inline constexpr std::size_t max_decrees = 16'384;         ///< in one message of the log
inline constexpr Duration max_future = 30 * 24h;           ///< limit of a record's remaining times
inline constexpr Duration max_past = 100 * 365 * 24h;      ///< limit of a record's past times
inline constexpr std::uint64_t ballot_limit = 1ULL << 63;  ///< of a ballot's counter and an index of the log

/// Encodes messages as the bytes of frames. Frames are concatenable: bytes appended to a frame become part of it. Keeps
/// its memory from one message to the next.
class Encoder {
 public:
    Encoder();
    ~Encoder();

    /// Appends the message to the frame. Error `too_large`, with nothing appended, if it does not fit even into a frame
    /// of its own.
    Result<void> append(const Message& message, std::string& frame);
    Result<void> append(const store::quorum::QuorumMessage& message, std::string& frame);
    Result<void> append(const consensus::LogMessage& message, std::string& frame);

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// A frame's keepalive: zero for none.
void append_ping(std::uint64_t number, std::string& frame);
void append_pong(std::uint64_t number, std::string& frame);
/// With a ping: how long this node stays silent (Q10).
void append_silence(std::uint64_t ms, std::string& frame);
/// With a ping: the latest incarnations that this node has persisted, by member (Q12).
void append_lives(const std::vector<store::quorum::LifeMark>& lives, std::string& frame);

struct Frame {
    std::vector<Message> messages;
    std::uint64_t ping = 0;
    std::uint64_t pong = 0;
    std::uint64_t silent_for_ms = 0;
    std::vector<store::quorum::LifeMark> lives;
    std::size_t rejected = 0;  ///< invalid messages, or messages over a limit; they count as lost
    std::string why_rejected;  ///< of the first of them
};

/// Decodes the bytes of frames. Whatever the input, the result is within every limit: known predicates, tokens below
/// 2^53, texts as long as lease/limits.h allows, times that can be added without overflow. Messages of an unknown kind
/// are skipped. Keeps its memory from one frame to the next.
class Decoder {
 public:
    Decoder();
    ~Decoder();

    /// Error `malformed` or `too_large` if it is not a frame at all.
    Result<Frame> decode(std::string_view bytes);

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::codec::peer

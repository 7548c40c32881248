#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "codec/peer/peer_messages.h"

namespace holdfast::doors::peer {

/// Encoded messages queued for one peer, at most `max_bytes`. The oldest messages are dropped to make room for new
/// ones: the protocol tolerates loss, and newer messages are worth more (Q12).
class Outbox {
 public:
    explicit Outbox(std::size_t max_bytes) : max_bytes_(max_bytes) {}

    /// Returns how many messages were dropped, including this one if it is too large for a frame.
    template <class AnyMessage>
    std::size_t add(codec::peer::Encoder& encoder, const AnyMessage& message) {
        const std::size_t before = bytes_.size();
        if (!encoder.append(message, bytes_)) return 1;
        sizes_.push_back(bytes_.size() - before);
        return make_room();
    }

    bool empty() const { return sizes_.empty(); }
    std::size_t bytes() const { return bytes_.size() - begin_; }
    std::size_t messages() const { return sizes_.size(); }

    /// Moves the oldest messages to the end of `frame`: as many as fit in `max_bytes`, and at least one if any is
    /// queued. Returns how many.
    std::size_t take(std::string& frame, std::size_t max_bytes);

 private:
    std::size_t make_room();
    void drop_front(std::size_t messages);

    std::size_t max_bytes_;
    std::string bytes_;  // bytes before begin_ are already taken
    std::size_t begin_ = 0;
    std::deque<std::size_t> sizes_;
};

}  // namespace holdfast::doors::peer

#pragma once

#include "base/random.h"
#include "discovery/protocol.h"

namespace holdfast::discovery {

inline constexpr std::size_t message_kinds = std::variant_size_v<Message>;

/// Makes messages of every kind with every field anywhere in its range, also at its ends.
class RandomMessages {
 public:
    explicit RandomMessages(std::uint64_t seed) : random_(seed) {}

    Message of_kind(std::size_t kind);
    Update update();

 private:
    std::uint64_t number(std::uint64_t below);
    std::string bytes(std::size_t most);
    std::string exactly(std::size_t count);
    ErrorCode code();
    Duration duration();
    UpdateResponse response();

    Random random_;
};

}  // namespace holdfast::discovery

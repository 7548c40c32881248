#pragma once

#include <memory>
#include <string>

#include "doors/resp/session.h"

namespace holdfast {

/// An exchange of a session. The reply goes straight to the session's output while the handler of a command with none
/// under way before it runs; otherwise it is kept here until its turn comes.
class RespSession::Slot final : public Exchange {
 public:
    explicit Slot(RespSession& session) : owner(session) {}
    ~Slot() = default;

    void begin(std::span<const std::string_view> words, bool directly) {
        words_ = words;
        direct = directly;
        done = false;
        ticket = 0;
        next = nullptr;
    }
    void words_are_gone() { words_ = {}; }

    RespSession& owner;
    std::shared_ptr<RespSession> alive;  ///< while it is under way behind the handler's back
    std::string kept;
    std::uint64_t ticket = 0;
    Slot* next = nullptr;
    bool direct = false;
    bool done = false;
};

}  // namespace holdfast

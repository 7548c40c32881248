#pragma once

#include <memory>
#include <string>

#include "doors/resp/session.h"

namespace holdfast {

/// An exchange of a session. While the handler runs and no earlier command is under way, the reply is written directly
/// to the session's output. Otherwise it is kept here until its turn comes.
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
    std::shared_ptr<RespSession> alive;  ///< set while the exchange is under way after its handler returned
    std::string kept;
    std::uint64_t ticket = 0;
    Slot* next = nullptr;
    bool direct = false;
    bool done = false;
};

}  // namespace holdfast

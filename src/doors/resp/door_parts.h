#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "authority/authority.h"
#include "doors/resp/buffers.h"
#include "doors/resp/command_batch.h"
#include "doors/resp/command_table.h"
#include "doors/resp/resp_door.h"
#include "doors/resp/subscriptions.h"
#include "net/poller.h"
#include "redis/script_cache.h"

namespace holdfast {

class RespSession;

/// State shared by the sessions of one door. Each session owns a reference, since it may outlive the door.
struct RespDoorParts {
    RespDoorParts(boost::asio::io_context& loop, core::Authority& authority_given, RespDoorOptions options_given,
                  DoorTurn turn_given)
        : authority(authority_given),
          options(std::move(options_given)),
          turn(std::move(turn_given)),
          poller(loop),
          hub(authority_given) {}

    core::Authority& authority;
    RespDoorOptions options;
    DoorTurn turn;
    Poller poller;
    CommandTable commands;
    Buffers buffers;
    CommandBatch batch;  ///< of the session being handled
    SubscriberHub hub;
    redis::ScriptCache scripts;
    std::unordered_map<RespSession*, std::shared_ptr<RespSession>> sessions;
    std::size_t refused = 0;                           ///< number of sessions over the limit, which only get an error
    std::vector<std::shared_ptr<RespSession>> woken;   ///< to be handled in the next turn
    std::vector<std::shared_ptr<RespSession>> closed;  ///< kept alive until the end of the turn
    std::function<void()> wake;                        ///< schedules a turn, unless one is under way
    std::function<void()> on_last_session;             ///< while stopping
    std::uint64_t commands_handled = 0;
    std::uint64_t connections_accepted = 0;
    std::chrono::steady_clock::time_point now;  ///< of this turn
    std::chrono::steady_clock::time_point started_at = std::chrono::steady_clock::now();
    std::string port;
    bool stopping = false;
    bool gone = false;  ///< the door was destroyed: the authority may be, too

    std::uint64_t same_value_sets = 0;
    std::chrono::steady_clock::time_point warn_again_at;  ///< next warning about same_value_sets

    /// Counts a lock refused for its own value, and warns at most once per minute.
    void note_same_value();
    /// Schedules the session for this turn or the next.
    void wake_up(RespSession& session);
    void forget(RespSession& session);
};

}  // namespace holdfast

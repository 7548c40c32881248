#pragma once

#include <holdfast/export.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

/// What can come of asking for a lease or keeping one. Each calls for something else from the program.
enum class Outcome {
    granted,      ///< do the work
    busy,         ///< somebody else has it: wait, or do something else
    lost,         ///< it was yours and is not any more: stop the work now
    uncertain,    ///< a renewal failed; it is still yours until the local deadline, and is being retried
    refused,      ///< the server will not grant it (policy, ban, bad request): asking again as is will not help
    unreachable,  ///< no server answered in time; nothing is known
    die,          ///< an older agent is in the way: let go of everything, and come back later (G5)
    cancelled,    ///< the program itself broke the call off: it took nothing
};
HOLDFAST_API const char* to_string(Outcome outcome);

/// One who stands in the way.
struct Conflict {
    std::string resource{};
    std::string predicate{};
    std::string holder{};
    std::string reason{};
    std::chrono::milliseconds expires_in{0};
    bool waiting = false;   ///< not a holder yet, but a request that is served first
    bool reserved = false;  ///< not a holder any more, but an agent that restarts (R5)
};

/// Why there is no lease, or no lease any more.
struct Failure {
    Outcome outcome = Outcome::unreachable;
    std::string code{};     ///< stable, as listed in docs/http-api.md; `unreachable` where no server answered
    std::string message{};  ///< a sentence for people
    std::vector<Conflict> conflicts{};
    std::optional<std::chrono::milliseconds> retry_in{};
    std::size_t queue_position = 0;  ///< the place this request has or would have in the queue, from 1; 0: none
};

}  // namespace holdfast

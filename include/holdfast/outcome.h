#pragma once

#include <holdfast/export.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

/// The result of acquiring or keeping a lease. Each one calls for a different reaction of the program.
enum class Outcome {
    granted,      ///< do the work
    busy,         ///< another holder has it: wait, or do something else
    lost,         ///< it was yours and is not any more: stop the work now
    uncertain,    ///< a renewal failed; it is still yours until the local deadline, and is being retried
    refused,      ///< the server will not grant it (policy, ban, bad request): asking again as is will not help
    unreachable,  ///< no server answered in time; nothing is known
    die,          ///< an older agent is in the way: release everything, and retry later (G5)
    cancelled,    ///< the program itself cancelled the call: nothing was acquired
};
HOLDFAST_API const char* to_string(Outcome outcome);

/// A lease, request or reservation that blocks the request.
struct Conflict {
    std::string resource{};
    std::string predicate{};
    std::string holder{};
    std::string reason{};
    std::chrono::milliseconds expires_in{0};
    bool waiting = false;     ///< a waiting request that is served first, not a lease
    bool reserved = false;    ///< a reservation of a restarting agent, not a lease (R5)
    std::uint64_t token = 0;  ///< of the lease, or of the one that is reserved; 0: a waiting request
};

/// The reason why a lease was not granted, or was lost.
struct Failure {
    Outcome outcome = Outcome::unreachable;
    std::string code{};     ///< stable, as listed in docs/http-api.md; `unreachable` where no server answered
    std::string message{};  ///< a sentence for people
    std::vector<Conflict> conflicts{};
    std::optional<std::chrono::milliseconds> retry_in{};
    std::size_t queue_position = 0;  ///< the place this request has or would have in the queue, from 1; 0: none
};

}  // namespace holdfast

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "supervise/work_deadlines.h"

namespace holdfast {

/// What keeper and guardian tell each other over a socket that keeps the bounds of messages (SOCK_SEQPACKET). Both ends
/// are the same executable, so the bytes are private to it.

struct StartOrder {
    WorkDeadlines deadlines;
    bool foreground = false;               ///< give the command the terminal
    std::vector<std::string> environment;  ///< `NAME=value`, on top of the guardian's own
    /// No end before all that the command ever started is dead, wherever it went, also if the command ends by itself
    /// (K4).
    bool whole = false;
    /// A session of its own for the command. It has then ended with its first process, otherwise with its group.
    bool session = false;
    std::string directory{};  ///< where the command starts; empty: where the guardian is
    std::string cgroup{};     ///< the control group to run it in (cgroup.h); empty: none
};
struct RenewedOrder {
    WorkDeadlines deadlines;
};
struct LostOrder {};
/// Stop now: ask, and kill at this instant if the deadline known does not come sooner.
struct StopOrder {
    HolderInstant kill_at;
};
/// Pass on a signal that asks the command to end, and may be heeded or not. SIGTERM goes to everything below the
/// guardian, others go to the command's group.
struct SignalOrder {
    std::int32_t signal = 0;
};

/// Keeper to guardian. A closed socket is the last order: the keeper is gone.
using Order = std::variant<StartOrder, RenewedOrder, LostOrder, StopOrder, SignalOrder>;

struct StartedReport {
    std::int32_t group = 0;
    std::int32_t guardian = 0;  ///< the process that reports
};
struct CannotRunReport {
    std::int32_t error = 0;  ///< errno of exec
};
struct StoppedReport {
    std::int32_t signal = 0;  ///< what suspended the command
};
struct EndedReport {
    std::int32_t status = 0;       ///< of the command, as waitpid() gives it
    bool forced = false;           ///< it was told to stop, because of the lease or by the keeper
    std::int32_t left_behind = 0;  ///< processes that outlived the command; they go on unless it was guarded as a whole
};

/// Guardian to keeper.
using Report = std::variant<StartedReport, CannotRunReport, StoppedReport, EndedReport>;

/// The longest message; an environment that does not fit is refused.
inline constexpr std::size_t max_message_bytes = 160 * 1024;

std::string encode(const Order& order);
std::string encode(const Report& report);
std::optional<Order> decode_order(std::string_view bytes);
std::optional<Report> decode_report(std::string_view bytes);

/// Sends one whole message or fails; never raises SIGPIPE. With `wait` false a full socket is a failure.
bool send_message(int socket, std::string_view bytes, bool wait);

/// The next message; empty when the other end is gone, nothing when there is none yet.
std::optional<std::string> receive_message(int socket);

}  // namespace holdfast

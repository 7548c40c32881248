#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "supervise/guardian_rules.h"

namespace holdfast::supervise {

/// The messages between keeper and guardian, over a socket that preserves message boundaries (SOCK_SEQPACKET). Both
/// ends are the same executable, so the bytes are private to it.

struct StartOrder {
    WorkDeadlines deadlines;
    bool foreground = false;               ///< give the command the terminal
    std::vector<std::string> environment;  ///< `NAME=value`, on top of the guardian's own
    /// The end is reported only after every process that the command started is dead, even one that left its group, and
    /// even if the command ends by itself (K4).
    bool whole = false;
    /// Runs the command in a session of its own. It then ends with its first process, otherwise with its group.
    bool session = false;
    std::string directory{};  ///< the command's working directory; empty: the guardian's
    std::string cgroup{};     ///< the control group to run it in (cgroup.h); empty: none
};
struct RenewedOrder {
    WorkDeadlines deadlines;
};
struct LostOrder {};
/// Stop now: ask, and kill at this instant, or at the known deadline if that is earlier.
struct StopOrder {
    HolderInstant kill_at;
};
/// Forward a signal that asks the command to end. The command may ignore it. SIGTERM goes to everything below the
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
    std::int32_t signal = 0;  ///< the signal that suspended the command
};
struct EndedReport {
    std::int32_t status = 0;       ///< of the command, as waitpid() gives it
    bool forced = false;           ///< it was asked to stop, because of the lease or by the keeper
    std::int32_t left_behind = 0;  ///< processes that outlived the command; they run on unless StartOrder::whole
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

/// The next message. An empty string when the other end is closed; nullopt when there is none yet.
std::optional<std::string> receive_message(int socket);

}  // namespace holdfast::supervise

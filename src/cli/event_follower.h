#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cli/api.h"
#include "cli/stop_on_signal.h"

namespace holdfast::cli {

/// One Server-Sent Event.
struct StreamEvent {
    std::string type;
    std::string data;
};

/// Assembles events from the lines of a stream, and remembers the last id for a reconnect.
class EventReader {
 public:
    /// Takes one line; returns an event when the line ends one.
    std::optional<StreamEvent> line(std::string_view text);

    /// A new connection starts: drops the incomplete event of the old one.
    void restart();

    /// The id of the last complete event that had one.
    const std::string& last_id() const { return last_id_; }

 private:
    StreamEvent event_;
    std::string id_;
    std::string last_id_;
};

/// The target of the event stream for the leases that match the filter.
std::string events_target(const FilterOptions& filter);

/// Follows an event stream over reconnects until SIGINT, SIGTERM or SIGHUP ends it. REQUIRES: constructed before any
/// thread is started.
class EventFollower {
 public:
    struct Reader {
        std::function<void(const StreamEvent&)> on_event;
        /// Called when the stream begins, for the first time or again: no event is missed from here on.
        std::function<void()> on_connected{};
    };
    EventFollower(const CommonOptions& options, std::string target, Reader reader);

    /// Returns the exit code: 0 after a signal. Fails if the server refuses, or cannot be reached at the start.
    int run();

    /// For requests beside the stream; a signal cancels them too. To be used in the callbacks and before run().
    Api& ask() { return ask_; }
    /// True after a signal.
    bool stopped() const { return stop_.signal() != 0; }

 private:
    Result<client::HttpResponse> follow();
    void on_connected();

    Screen screen_;
    Api api_;
    Api ask_;
    std::string target_;
    Reader reader_;
    EventReader events_;
    bool connected_ = false;
    bool connected_once_ = false;
    StopOnSignal stop_;
};

}  // namespace holdfast::cli

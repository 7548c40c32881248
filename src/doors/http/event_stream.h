#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "authority/authority.h"
#include "authority/events.h"
#include "doors/http/decode.h"

namespace holdfast::doors::http {

/// One client's view of the events: which it has received, and which of the others match its filter. No I/O.
///
/// A stream that lags behind reads the kept events in pieces (`pull`), so that catching up never costs more memory than
/// a live stream. Once it has caught up, it receives events as they happen.
class EventStream {
 public:
    /// `epoch` identifies this run of the server. The next run numbers its events from the start again.
    EventStream(authority::Authority& authority, std::string epoch, EventFilter filter);

    /// Returns the first text of the stream, for a client that reconnects with this id, or for a new client.
    std::string start(const std::optional<std::string>& last_event_id);

    /// Returns the text of an event. Streams share it.
    using Text = std::function<const std::string&(const authority::Event&)>;
    /// Returns about `room` bytes of earlier events. Afterwards is_live() says whether that was all.
    std::string pull(std::size_t room, const Text& text_of);
    bool is_live() const { return live_; }

    /// Turns a live stream into a lagging one. False if it was not live, or if it wants renewals, which are not kept.
    bool fall_behind();
    bool has_fallen_behind() const { return !live_ && fell_behind_; }

    /// True if the event is to be sent now. Called with each event for a live stream.
    bool wants(const authority::Event& event);
    bool matches(const authority::Event& event) const;

 private:
    authority::Authority& authority_;
    std::string epoch_;
    EventFilter filter_;
    std::uint64_t told_ = 0;  // every event up to this sequence number was sent or skipped
    bool live_ = false;
    bool fell_behind_ = false;  // after having been live

    std::string missed();
    std::optional<std::uint64_t> sequence_in(std::string_view id) const;
};

/// Formats an event as a Server-Sent Event.
std::string event_text(const authority::Event& event, std::string_view epoch);

class Session;

/// One subscription for the streams of all sessions. A session may leave during a notification.
class EventHub {
 public:
    explicit EventHub(authority::Authority& authority);
    ~EventHub();

    /// REQUIRES: not called during a notification.
    void join(Session& session);
    void leave(Session& session);
    void shut();

    const std::string& epoch() const { return epoch_; }
    /// The text of an event. For the latest events it is formatted once for all sessions.
    const std::string& text_of(const authority::Event& event);

 private:
    authority::Authority& authority_;
    std::string epoch_;
    std::vector<Session*> sessions_;  // nullptr: left during a notification
    std::optional<authority::Events::Subscription> subscription_;
    struct Text {
        std::uint64_t sequence = 0;
        std::string text;
    };
    std::vector<Text> texts_;   // of the latest events, by sequence modulo size; none before the first stream
    std::string passing_text_;  // of the renewal being delivered
    bool telling_ = false;

    void tell(const authority::Event& event);
};

}  // namespace holdfast::doors::http

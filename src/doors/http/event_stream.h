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

namespace holdfast::http {

/// One client's view of the events: what it has been told, and what of the rest concerns it. No I/O.
///
/// A stream that lags behind is fed from the kept events in pieces (`pull`), so that catching up never costs more
/// memory than a live stream; once it has caught up it is told what happens as it happens.
class EventStream {
 public:
    /// `epoch` tells one life of the server from the next, whose events are numbered afresh.
    EventStream(core::Authority& authority, std::string epoch, EventFilter filter);

    /// The first text of the stream, for a client that comes back with this id or comes new.
    std::string start(const std::optional<std::string>& last_event_id);

    /// The text of an event, which several streams share.
    using Text = std::function<const std::string&(const core::Event&)>;
    /// More of what happened before, about `room` bytes; then is_live() says whether that was all.
    std::string pull(std::size_t room, const Text& text_of);
    bool is_live() const { return live_; }

    /// A live stream becomes one that lags. False if it was not live, or wants renewals: those are not kept.
    bool fall_behind();
    bool has_fallen_behind() const { return !live_ && fell_behind_; }

    /// True if the event is to be sent now. A live stream is offered each.
    bool wants(const core::Event& event);
    bool matches(const core::Event& event) const;

 private:
    core::Authority& authority_;
    std::string epoch_;
    EventFilter filter_;
    std::uint64_t told_ = 0;  // everything up to this sequence
    bool live_ = false;
    bool fell_behind_ = false;  // after having been live

    std::string missed();
    std::optional<std::uint64_t> sequence_in(std::string_view id) const;
};

/// An event as Server-Sent Events write it.
std::string event_text(const core::Event& event, std::string_view epoch, const core::Authority& authority);

/// Whoever listens to the hub.
class EventSink {
 public:
    virtual ~EventSink() = default;
    virtual void on_event(const core::Event& event) = 0;
};

/// One subscription for all streams. A sink may leave while it is told something.
class EventHub {
 public:
    explicit EventHub(core::Authority& authority);
    ~EventHub();

    /// REQUIRES: no event is being told.
    void join(EventSink& sink);
    void leave(EventSink& sink);
    void shut();

    const std::string& epoch() const { return epoch_; }
    /// An event as text; of the latest ones it is made once for all sinks.
    const std::string& text_of(const core::Event& event);

 private:
    core::Authority& authority_;
    std::string epoch_;
    std::vector<EventSink*> sinks_;  // nullptr: left while they were told something
    std::optional<core::Events::Subscription> subscription_;
    struct Text {
        std::uint64_t sequence = 0;
        std::string text;
    };
    std::vector<Text> texts_;   // of the latest events, by sequence modulo size; none before the first stream
    std::string passing_text_;  // of the renewal that is being told
    bool telling_ = false;

    void tell(const core::Event& event);
};

}  // namespace holdfast::http

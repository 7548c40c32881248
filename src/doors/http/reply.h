#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "authority/authority.h"
#include "discovery/directory/directory.h"
#include "doors/http/decode.h"
#include "doors/http/readiness.h"
#include "doors/http/response.h"
#include "keys/controller/controller.h"

namespace holdfast::doors::http {

class Metrics;
class Session;

/// A text stream to the client. A Feed receives a Tell, with which it writes to the client; `last` ends the stream.
using Tell = std::function<void(std::string_view text, bool last)>;
struct Feeding {
    std::function<void()> stop;
    /// Returns the next piece of the initial state. Called whenever the client has read the piece before. An empty
    /// string ends the initial state. May be absent.
    std::function<std::string()> next_piece{};
};
using Feed = std::function<Feeding(Tell tell)>;

/// The right to answer one request of a session, once. May outlive the session: then it does nothing.
class Reply {
 public:
    Reply(std::weak_ptr<Session> session, std::uint64_t number) : session_(std::move(session)), number_(number) {}

    /// True while the request awaits its response and the connection is not closed.
    bool open() const;
    /// True if also the client's host is reachable, as far as the connection can tell.
    bool reachable() const;
    void operator()(Response response) const;
    /// Marks the request as waiting. `give_up` is called if the client disconnects meanwhile.
    void wait(std::function<void()> give_up) const;
    /// Sets the callback for the end of the connection, with or without a request under way. A connection has only one.
    void when_gone(std::function<void()> gone) const;
    /// The connection carries only events from now on.
    void stream(EventFilter filter) const;
    /// The same with the text of a feed.
    void stream(const Feed& feed) const;

 private:
    std::weak_ptr<Session> session_;
    std::uint64_t number_;
};

/// The services that handlers use. Outlives every open Reply.
struct Services {
    authority::Authority& authority;
    keys::controller::Controller& controller;
    discovery::directory::Directory& directory;
    Metrics& metrics;
    std::string version;
    std::function<std::string()> quorum_status;  ///< empty: not clustered
    std::function<std::string()> store_status;
    std::function<const Error*()> store_trouble;
    std::function<std::optional<Trouble>()> own_trouble;
    std::function<MetricNumbers()> numbers;
    bool spawns = true;  ///< whether requests may start commands on drones
};

}  // namespace holdfast::doors::http

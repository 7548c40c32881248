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

namespace holdfast::http {

class Metrics;

/// A text stream to the client. A Feed receives a Tell, with which it writes to the client; `last` ends the stream.
using Tell = std::function<void(std::string_view text, bool last)>;
struct Feeding {
    std::function<void()> stop;
    /// Returns the next piece of the initial state. Called whenever the client has read the piece before. An empty
    /// string ends the initial state. May be absent.
    std::function<std::string()> next_piece{};
};
using Feed = std::function<Feeding(Tell tell)>;

/// A connection as the handlers see it. It takes the response to a numbered request.
class Exchange {
 public:
    virtual ~Exchange() = default;

    /// True while this request awaits its response and the connection is not closed.
    virtual bool open(std::uint64_t number) const = 0;
    /// True if also the client's host is reachable, as far as the connection can tell.
    virtual bool reachable(std::uint64_t number) const = 0;
    virtual void answer(std::uint64_t number, Response response) = 0;
    /// Marks the request as waiting. `give_up` is called if the client disconnects meanwhile.
    virtual void wait(std::uint64_t number, std::function<void()> give_up) = 0;
    /// Sets the callback for the end of the connection, with or without a request under way. A connection has only one.
    virtual void when_gone(std::uint64_t number, std::function<void()> gone) = 0;
    /// The connection carries only events from now on.
    virtual void stream(std::uint64_t number, EventFilter filter) = 0;
    /// The same with the text of a feed.
    virtual void stream(std::uint64_t number, const Feed& feed) = 0;
};

/// The right to answer one request, once. May outlive the connection: then it does nothing.
class Reply {
 public:
    Reply(std::weak_ptr<Exchange> exchange, std::uint64_t number) : exchange_(std::move(exchange)), number_(number) {}

    bool open() const {
        const auto exchange = exchange_.lock();
        return exchange && exchange->open(number_);
    }
    bool reachable() const {
        const auto exchange = exchange_.lock();
        return exchange && exchange->reachable(number_);
    }
    void operator()(Response response) const {
        if (const auto exchange = exchange_.lock()) exchange->answer(number_, std::move(response));
    }
    void wait(std::function<void()> give_up) const {
        if (const auto exchange = exchange_.lock()) exchange->wait(number_, std::move(give_up));
    }
    void when_gone(std::function<void()> gone) const {
        if (const auto exchange = exchange_.lock()) exchange->when_gone(number_, std::move(gone));
    }
    void stream(EventFilter filter) const {
        if (const auto exchange = exchange_.lock()) exchange->stream(number_, std::move(filter));
    }
    void stream(const Feed& feed) const {
        if (const auto exchange = exchange_.lock()) exchange->stream(number_, feed);
    }

 private:
    std::weak_ptr<Exchange> exchange_;
    std::uint64_t number_;
};

/// The services that handlers use. Outlives every open Reply.
struct Services {
    core::Authority& authority;
    core::Controller& controller;
    core::Directory& directory;
    Metrics& metrics;
    std::string version;
    std::function<std::string()> quorum_status;  ///< empty: not clustered
    std::function<std::string()> store_status;
    std::function<const Error*()> store_trouble;
    std::function<std::optional<Trouble>()> own_trouble;
    std::function<MetricNumbers()> numbers;
    bool spawns = true;  ///< whether requests may start commands on drones
};

}  // namespace holdfast::http

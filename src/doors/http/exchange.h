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

/// A stream of text that somebody feeds: begins with a way to write to the client, with `last` for the end of it.
using Tell = std::function<void(std::string_view text, bool last)>;
struct Feeding {
    std::function<void()> stop;
    /// A piece of what was there before, whenever the client has read the one before it; empty: that was all. May be
    /// absent.
    std::function<std::string()> next_piece{};
};
using Feed = std::function<Feeding(Tell tell)>;

/// One end of a connection, as the handlers see it: where the answer to a numbered request goes.
class Exchange {
 public:
    virtual ~Exchange() = default;

    /// True while the request with this number waits for its answer and somebody may still read it.
    virtual bool open(std::uint64_t number) const = 0;
    /// True if, moreover, the client's host is there, as far as the connection tells.
    virtual bool reachable(std::uint64_t number) const = 0;
    virtual void answer(std::uint64_t number, Response response) = 0;
    /// The request waits; whoever goes away while it does gives it up by this.
    virtual void wait(std::uint64_t number, std::function<void()> give_up) = 0;
    /// Is called when the connection has ended, whether or not a request is under way then; one of a connection.
    virtual void when_gone(std::uint64_t number, std::function<void()> gone) = 0;
    /// The connection carries events from now on, and nothing else.
    virtual void stream(std::uint64_t number, EventFilter filter) = 0;
    /// The same with what the feed tells.
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

/// What the handlers work with. Outlives every open Reply.
struct Services {
    core::Authority& authority;
    core::Controller& controller;
    core::Directory& directory;
    Metrics& metrics;
    std::string version;
    std::function<std::string()> quorum_status;  ///< none: not clustered
    std::function<std::string()> store_status;
    std::function<const Error*()> store_trouble;
    std::function<std::optional<Trouble>()> own_trouble;
    std::function<MetricNumbers()> numbers;
    bool spawns = true;  ///< a request may say what to run on a drone
};

}  // namespace holdfast::http

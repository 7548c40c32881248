#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "doors/http/event_stream.h"
#include "doors/http/http_door.h"
#include "doors/http/metrics.h"
#include "doors/http/reply.h"
#include "doors/http/request_reader.h"
#include "net/door.h"

namespace holdfast::doors::http {

/// State shared by the sessions of one door. Each session owns a reference, since it may outlive the door.
struct Shared {
    Shared(boost::asio::io_context& loop, const HttpDoorServices& behind, prometheus::Registry& registry,
           HttpDoorOptions given);

    boost::asio::io_context& loop;
    HttpDoorOptions options;
    Metrics metrics;
    Services services;
    EventHub hub;
    unsigned requests = 0;
    net::Door* door = nullptr;  ///< null once it is destroyed: the authority may be, too

    std::string_view date();

 private:
    std::string date_;
    std::int64_t date_s_ = 0;
};

/// One client's connection: requests in, answers out, strictly in order, one request at a time.
class Session final : public net::Connection {
 public:
    Session(net::Admitted admitted, std::shared_ptr<Shared> shared);

    std::size_t held_bytes() const override { return Connection::held_bytes() + reader_.held_bytes(); }
    /// Called for every event once the session streams events.
    void on_event(const authority::Event& event);

 private:
    friend class Reply;

    std::shared_ptr<Shared> shared_;
    RequestReader reader_;

    // The request under way.
    std::uint64_t number_ = 0;
    const Route* route_ = nullptr;
    std::optional<std::string> last_event_id_;
    bool busy_ = false, keep_alive_ = true, http_1_0_ = false, head_only_ = false;
    std::function<void()> give_up_;  // while it waits
    Duration progress_every_{};      // zero: the client did not ask for it
    std::optional<boost::asio::steady_timer> progress_timer_;

    std::function<void()> gone_;  // called when the connection has ended
    std::optional<EventStream> stream_;
    std::size_t behind_bytes_ = 0;  // of events not yet sent on a stream that has fallen behind
    Feeding feeding_;
    bool streaming_ = false;
    Clock::time_point keep_alive_at_;

    Clock::time_point deadline_;  // for the next request to begin or, once begun, to be complete
    bool receiving_ = false;
    bool processing_ = false;
    bool over_limit_ = false;

    // ---- for the door and its turns ----
    /// Over the limit it answers one request, which must arrive within a short timeout: a health or metrics request is
    /// served, any other is refused.
    void refuse() override;
    void stop() override;
    bool run() override;
    bool wants_input() const override { return true; }
    void on_check(Clock::time_point time) override;
    void on_close(const std::string& why) override;

    // As for Reply; `number` is that of its request.
    bool open(std::uint64_t number) const { return busy_ && number == number_ && !is_closed(); }
    bool reachable(std::uint64_t number) const { return open(number) && peer_is_there(); }
    void answer(std::uint64_t number, Response response);
    void wait(std::uint64_t number, std::function<void()> give_up);
    void when_gone(std::uint64_t number, std::function<void()> gone);
    void stream(std::uint64_t number, EventFilter filter);
    void stream(std::uint64_t number, const Feed& feed);

    bool process();
    bool next_request();
    void await_rest();
    void start(Request request);
    void dispatch(const Request& request);
    void reject(Code code, std::string_view detail = {});
    void reject_as_full();
    void put(const Response& response);
    void give_up_waiting();
    void show_progress_later();
    void show_progress(std::uint64_t number);
    bool begin_stream(std::uint64_t number);
    bool tell();
    void fed(std::string_view text, bool last);
};

}  // namespace holdfast::doors::http

#include "doors/http/session.h"

#include <algorithm>

#include "authority/store_call.h"
#include "base/clock.h"
#include "base/text.h"
#include "doors/http/answers.h"
#include "doors/http/origin.h"
#include "doors/http/routes.h"

namespace holdfast::doors::http {
namespace {

constexpr std::size_t max_input_bytes = 64 * 1024;
constexpr std::size_t max_answers_bytes = 256 * 1024;  // limit of unread responses before the next request is read
constexpr std::size_t max_stream_bytes = 1024 * 1024;
constexpr std::size_t catch_up_bytes = 64 * 1024;
constexpr unsigned requests_per_clock = 16;  // after which the clock is read again in a long turn (T2)
constexpr auto stream_keep_alive = 15s;
constexpr const char* too_slow = "it reads its events too slowly";

constexpr auto over_limit_timeout = 2s;  // for a connection over the limit to send its request
constexpr auto retry_when_full = 1s;

/// Requests that a connection over the limit may still make, so that monitoring sees why no one can connect.
bool tells_how_it_is(std::string_view path) {
    return path == "/health" || path == "/ready" || path == "/metrics";
}

/// Requests that can be answered while the store is unavailable.
bool needs_no_store(std::string_view path) {
    return tells_how_it_is(path) || path == "/v1/store";
}

constexpr std::uint64_t progress_ms_min = 50, max_progress_ms = 60'000;

/// Zero if the client did not ask for progress, or the value is not a number. HTTP/1.0 has no informational responses.
Duration progress_every(const Request& request) {
    const auto ms = request.http_1_0 ? std::nullopt : parse_number(request.progress_ms);
    if (!ms) return Duration::zero();
    return std::chrono::milliseconds{std::clamp(*ms, progress_ms_min, max_progress_ms)};
}

/// A page of another origin can send a form without a CORS preflight, but not JSON.
bool is_json(std::string_view content_type) {
    static constexpr std::string_view json = "application/json";
    std::string type(content_type.substr(0, content_type.find(';')));
    type.erase(type.find_last_not_of(" \t") + 1);
    std::transform(type.begin(), type.end(), type.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return type.empty() || type == json;
}

}  // namespace

bool Reply::open() const {
    const auto session = session_.lock();
    return session && session->open(number_);
}

bool Reply::reachable() const {
    const auto session = session_.lock();
    return session && session->reachable(number_);
}

void Reply::operator()(Response response) const {
    if (const auto session = session_.lock()) session->answer(number_, std::move(response));
}

void Reply::wait(std::function<void()> give_up) const {
    if (const auto session = session_.lock()) session->wait(number_, std::move(give_up));
}

void Reply::when_gone(std::function<void()> gone) const {
    if (const auto session = session_.lock()) session->when_gone(number_, std::move(gone));
}

void Reply::stream(EventFilter filter) const {
    if (const auto session = session_.lock()) session->stream(number_, std::move(filter));
}

void Reply::stream(const Feed& feed) const {
    if (const auto session = session_.lock()) session->stream(number_, feed);
}

Shared::Shared(boost::asio::io_context& loop_given, const HttpDoorServices& behind, prometheus::Registry& registry,
               HttpDoorOptions given)
    : loop(loop_given),
      options(std::move(given)),
      metrics(registry),
      services{behind.authority,    behind.controller,     behind.directory,     metrics,
               options.version,     options.quorum_status, options.store_status, options.store_trouble,
               options.own_trouble, options.numbers},
      hub(behind.authority) {}

std::string_view Shared::date() {
    const std::int64_t now_ms = wall_clock_ms();
    if (now_ms / 1000 != date_s_ || date_.empty()) {
        date_s_ = now_ms / 1000;
        date_ = http_date(now_ms);
    }
    return date_;
}

Session::Session(net::Admitted admitted, std::shared_ptr<Shared> shared)
    : Connection(std::move(admitted), {max_input_bytes, shared->options.write_timeout}),
      shared_(std::move(shared)),
      deadline_(now() + shared_->options.idle_timeout) {}

void Session::refuse() {
    over_limit_ = true;
    deadline_ = now() + over_limit_timeout;
}

void Session::stop() {
    if (is_lingering()) return close();
    if (!busy_) finish();
}

bool Session::run() {
    if (streaming_) {
        consume(input().size());
        if (!has_ended()) return tell();
        close();
        return false;
    }
    if (has_ended()) give_up_waiting();
    return process();
}

/// Handles received requests, within the limits.
bool Session::process() {
    processing_ = true;
    bool has_room = unsent() < max_answers_bytes;
    while (has_room && !busy_ && !streaming_ && !is_finishing() && next_request())
        has_room = unsent() < max_answers_bytes && !is_slice_over();
    processing_ = false;
    return !has_room;
}

/// Parses more input. False if it has no complete request.
bool Session::next_request() {
    std::string_view rest = input();
    const RequestReader::Step step = reader_.feed(rest);
    consume(input().size() - rest.size());
    if (step == RequestReader::Step::ready) {
        receiving_ = false;
        start(reader_.take());
        return true;
    }
    if (step == RequestReader::Step::failed) {
        reject(reader_.failure(), reader_.detail());
    } else {
        await_rest();
    }
    return false;
}

/// The request is still incomplete.
void Session::await_rest() {
    if (has_ended()) return finish();
    if (is_input_full()) return reject(Code::header_too_large);
    if (reader_.wants_continue()) output() += "HTTP/1.1 100 Continue\r\n\r\n";
    if (receiving_ || (input().empty() && !reader_.started())) return;
    receiving_ = true;
    if (!over_limit_) deadline_ = now() + shared_->options.read_timeout;
}

void Session::start(Request request) {
    ++number_;
    busy_ = true;
    route_ = nullptr;
    keep_alive_ = request.keep_alive && !over_limit_;
    http_1_0_ = request.http_1_0;
    head_only_ = request.method == "HEAD";
    progress_every_ = progress_every(request);
    last_event_id_.reset();
    if (request.has_last_event_id) last_event_id_ = request.last_event_id;
    request.peer = peer();
    request.connection = id();
    dispatch(request);
}

void Session::dispatch(const Request& request) {
    const std::string problem = origin_problem(request, shared_->options.names);
    if (!problem.empty()) return answer(number_, failure(Code::origin_refused, problem));
    if (over_limit_ && !tells_how_it_is(request.path))
        return answer(number_, failure(Code::too_many_connections, {}, retry_when_full));
    const Match match = find_route(request.method, request.path);
    if (!match.problem.empty()) return answer(number_, failure(Code::invalid_argument, match.problem));
    if (match.route == nullptr) {
        const Code code = match.allow.empty() ? Code::not_found : Code::method_not_allowed;
        Response response = failure(code);
        response.allow = match.allow;
        return answer(number_, std::move(response));
    }
    route_ = match.route;
    if (const Error* why = needs_no_store(request.path) ? nullptr : shared_->options.not_yet(); why != nullptr)
        return answer(number_, failure(authority::storage_failure(*why)));
    if (!request.body.empty() && !is_json(request.content_type))
        return answer(number_, failure(Code::bad_request, "send the body with Content-Type: application/json"));
    if (++shared_->requests % requests_per_clock == 0) read_clock();
    const auto self = std::static_pointer_cast<Session>(shared_from_this());
    match.route->handler(shared_->services, request, match.parameter, Reply(self, number_));
}

void Session::answer(std::uint64_t number, Response response) {
    if (!open(number)) return;
    busy_ = false;
    if (std::exchange(give_up_, nullptr)) watch_peer(net::Watch::usual);
    keep_alive_ = keep_alive_ && !door().is_stopping();
    put(response);
    deadline_ = now() + shared_->options.idle_timeout;
    if (!keep_alive_) return finish();
    // Deferred, because the authority may be in the middle of another client's request here.
    if (!processing_) wake();
}

void Session::put(const Response& response) {
    shared_->metrics.count(route_, response.code);
    append(output(), response, {keep_alive_, http_1_0_, head_only_, shared_->date()});
}

/// Ends the connection with an error response to a malformed or late request.
void Session::reject(Code code, std::string_view detail) {
    route_ = nullptr;
    keep_alive_ = false;
    head_only_ = false;
    put(failure(code, detail));
    finish();
}

void Session::reject_as_full() {
    keep_alive_ = false;
    put(failure(Code::too_many_connections, {}, retry_when_full));
    finish();
}

void Session::wait(std::uint64_t number, std::function<void()> give_up) {
    if (!open(number)) return;
    give_up_ = std::move(give_up);
    watch_peer(net::Watch::close);
    if (has_ended()) return give_up_waiting();
    show_progress_later();
}

/// A client that announced its last request here (no keep-alive) is expected to disconnect, so that means nothing.
void Session::when_gone(std::uint64_t number, std::function<void()> gone) {
    if (open(number)) gone_ = keep_alive_ ? std::move(gone) : nullptr;
}

void Session::show_progress_later() {
    if (progress_every_ <= Duration::zero()) return;
    if (!progress_timer_) progress_timer_.emplace(shared_->loop);
    progress_timer_->expires_after(progress_every_);
    progress_timer_->async_wait([weak = weak_from_this(), number = number_](boost::system::error_code cancelled) {
        const auto self = weak.lock();
        if (!cancelled && self) static_cast<Session&>(*self).show_progress(number);
    });
}

/// Sends an informational response to a client that asked for progress: its request still waits. Skipped while the
/// client does not read.
void Session::show_progress(std::uint64_t number) {
    if (!open(number) || !give_up_ || is_finishing()) return;
    if (unsent() == 0) {
        output() += "HTTP/1.1 102 Processing\r\n\r\n";
        wake();
    }
    show_progress_later();
}

void Session::give_up_waiting() {
    if (const auto give_up = std::exchange(give_up_, nullptr)) give_up();
}

/// False if there is no client to stream to.
bool Session::begin_stream(std::uint64_t number) {
    if (!open(number)) return false;
    busy_ = false;
    shared_->metrics.count(route_, {});
    append_stream_head(output(), shared_->date());
    if (head_only_ || door().is_stopping() || has_ended()) {
        finish();
        return false;
    }
    streaming_ = true;
    keep_alive_at_ = now() + stream_keep_alive;
    return true;
}

void Session::stream(std::uint64_t number, EventFilter filter) {
    if (!begin_stream(number)) return;
    stream_.emplace(shared_->services.authority, shared_->hub.epoch(), std::move(filter));
    output() += stream_->start(last_event_id_);
    shared_->hub.join(*this);
    wake();
}

void Session::stream(std::uint64_t number, const Feed& feed) {
    if (!begin_stream(number)) return;
    const std::weak_ptr<net::Connection> self = weak_from_this();
    feeding_ = feed([self](std::string_view text, bool last) {
        if (const auto session = self.lock()) static_cast<Session&>(*session).fed(text, last);
    });
    if (const auto stop = is_closed() ? std::exchange(feeding_, {}).stop : nullptr) return stop();
    wake();
}

void Session::fed(std::string_view text, bool last) {
    if (is_finishing() || is_giving_up() || is_closed()) return;
    output() += text;
    if (unsent() > max_stream_bytes) return give_up(too_slow);
    if (last) return finish();
    wake();  // one write for all events of this turn
}

/// A client that reads too slowly gets its events later from the kept events: thousands of streams with a copy each
/// would take too much memory and time.
void Session::on_event(const authority::Event& event) {
    if (is_finishing() || is_giving_up()) return;
    if (unsent() >= catch_up_bytes && stream_->fall_behind()) behind_bytes_ = unsent();
    if (stream_->has_fallen_behind()) {
        if (stream_->matches(event)) behind_bytes_ += shared_->hub.text_of(event).size();
        if (behind_bytes_ > max_stream_bytes) give_up(too_slow);
        return;
    }
    if (!stream_->wants(event)) return;
    output() += shared_->hub.text_of(event);
    if (unsent() > max_stream_bytes) return give_up(too_slow);
    wake();
}

/// Adds events to the output. Those from before the client reconnected come first, in pieces.
bool Session::tell() {
    if (stream_ && !stream_->is_live() && unsent() < catch_up_bytes) {
        const std::string piece = stream_->pull(
            catch_up_bytes,
            [this](const authority::Event& event) -> const std::string& { return shared_->hub.text_of(event); });
        behind_bytes_ -= std::min(behind_bytes_, piece.size());
        output() += piece;
    }
    if (feeding_.next_piece && unsent() < catch_up_bytes) {
        const std::string piece = feeding_.next_piece();
        if (piece.empty()) feeding_.next_piece = nullptr;
        output() += piece;
    }
    return (stream_ && !stream_->is_live()) || feeding_.next_piece;
}

void Session::on_check(Clock::time_point time) {
    if (streaming_) {
        if (time < keep_alive_at_) return;
        keep_alive_at_ = time + stream_keep_alive;
        output() += ": still here\n\n";
        return wake();
    }
    if (busy_ || time < deadline_ || unsent() > 0) return;
    if (over_limit_) return reject_as_full();
    if (!receiving_) return finish();
    reject(Code::request_timeout);
}

void Session::on_close(const std::string&) {
    if (shared_->door == nullptr) return;
    give_up_waiting();
    if (const auto gone = std::exchange(gone_, nullptr)) gone();
    if (stream_) shared_->hub.leave(*this);
    if (const auto stop = std::exchange(feeding_, {}).stop) stop();
}

}  // namespace holdfast::doors::http

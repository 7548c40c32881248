#include "client/http_connection.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/code.h"
#include "client/messages.h"

namespace holdfast::client {

namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

/// Limits of the time for one server to accept a connection, and to answer a request that other servers can answer too.
constexpr Duration max_connect = 2s;
constexpr Duration answer_min = 250ms;
/// Bounds of the silence allowed to a server while a client's request waits for its turn.
constexpr Duration silence_least = 300ms;
constexpr Duration longest_silence = 5s;
/// The time for all servers together to accept the connection of a stream.
constexpr Duration max_stream_connect = 10s;

bool is_repeatable(const HttpRequest& request) {
    return request.repeatable || request.method == "GET" || request.method == "PUT" || request.method == "DELETE";
}

Duration left_until(SteadyTime deadline) {
    return std::max<Duration>(deadline - std::chrono::steady_clock::now(), Duration::zero());
}

}  // namespace

/// One request that is tried on each server in turn.
struct HttpConnection::Attempts {
    HttpConnection& connection;
    SteadyTime deadline;
    std::size_t to_try = connection.servers_->size();
    std::string reasons{};

    /// Connects to the selected server, or to one after it. REQUIRES: to_try is not zero.
    Result<void> connect() {
        for (;;) {
            connection.place_ = connection.servers_->current();
            connection.link_.aim(connection.server());
            --to_try;
            const Duration left = left_until(deadline);
            const Duration share = left / static_cast<std::int64_t>(to_try + 1);
            const auto connected = connection.link_.connect(to_try == 0 ? left : std::min(share, max_connect));
            if (connected || !goes_on(connected.error())) return told(connected);
        }
    }

    /// The timeout for an answer before the next server is asked.
    Duration patience(const HttpRequest& request) const {
        const Duration left = left_until(deadline);
        if (to_try == 0 || !is_repeatable(request)) return left;
        return std::min(left, std::max(left / static_cast<std::int64_t>(to_try + 1), answer_min));
    }

    /// Passes over the server that failed with this error. True if there is another server to ask, and time for it.
    bool goes_on(const Error& error) {
        if (code_in(error.code) == Code::cancelled) return false;
        connection.pass_over();
        reasons += (reasons.empty() ? "" : "; ") + error.message;
        return to_try > 0 && left_until(deadline) > Duration::zero();
    }

    /// Replaces an error by one that names all servers tried.
    template <class T>
    Result<T> told(Result<T> result) const {
        if (result || code_in(result.error().code) == Code::cancelled) return result;
        return Error{result.error().code, reasons};
    }
};

Duration HttpConnection::max_silence(Duration ttl) const {
    if (servers_->size() == 1) return Duration::zero();
    return ttl > Duration::zero() ? std::clamp<Duration>(ttl / 3, silence_least, longest_silence) : longest_silence;
}

Result<HttpResponse> HttpConnection::send(const HttpRequest& request, Duration timeout) {
    Attempts attempts{*this, std::chrono::steady_clock::now() + timeout};
    perhaps_done_ = false;
    for (;;) {
        if (auto connected = attempts.connect(); !connected) return connected.error();
        auto response = link_.send(request, attempts.patience(request));
        if (!response) {
            perhaps_done_ = perhaps_done_ || code_in(response.error().code) != Code::cancelled;
            const bool again = attempts.goes_on(response.error()) && is_repeatable(request);
            if (!again) return attempts.told(std::move(response));
            continue;
        }
        const auto absence = absence_in(*response);
        if (!absence) return response;
        const bool undone = *absence == Absence::nothing_done || is_repeatable(request);
        if (!attempts.goes_on(read_error(*response)) || !undone) return response;
        perhaps_done_ = perhaps_done_ || *absence == Absence::unknown;
    }
}

Result<HttpResponse> HttpConnection::stream(const HttpRequest& request,
                                            const std::function<bool(std::string_view)>& on_line) {
    Attempts attempts{*this, std::chrono::steady_clock::now() + max_stream_connect};
    for (;;) {
        const auto connected = attempts.connect();
        if (!connected && code_in(connected.error().code) == Code::cancelled) return HttpResponse{200, {}};
        if (!connected) return connected.error();
        bool began = false;
        auto response = link_.stream(request, [&](std::string_view line) {
            began = true;
            return on_line(line);
        });
        if (response && !absence_in(*response)) return response;
        const bool again = attempts.goes_on(response ? read_error(*response) : response.error());
        if (began || !again) return response;
    }
}

}  // namespace holdfast::client

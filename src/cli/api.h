#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/options.h"
#include "cli/screen.h"
#include "client/http_connection.h"

namespace holdfast {

/// What the server said: a JSON object and its status.
struct Answer {
    int status = 0;
    boost::json::value body;

    bool ok() const { return status >= 200 && status < 300; }
};

/// The server's HTTP API (docs/http-api.md), one call at a time.
class Api {
 public:
    explicit Api(const CommonOptions& options) : connection_(options.server) {}
    /// Shares with others which of the servers is asked.
    explicit Api(std::shared_ptr<ServerList> servers) : connection_(std::move(servers)) {}

    /// An answer, also one that says no. The error is `unreachable`, `cancelled` or `not_holdfast`.
    Result<Answer> get(std::string target) { return call({"GET", std::move(target), "", ""}); }
    /// The same, if the answer comes in this time.
    Result<Answer> get_within(Duration timeout, std::string target);
    /// All pages of a list as one: an answer whose array `items` has what every page had. The target has a query
    /// already.
    Result<Answer> get_all(const std::string& target, std::string_view items);
    /// REQUIRES: done twice is as good as once. A server that is silent is left for another one.
    Result<Answer> send(std::string method, std::string target, const boost::json::value& body);
    Result<Answer> remove(std::string target) { return call({"DELETE", std::move(target), "", ""}); }

    /// A POST that may take `wait` longer than usual to answer. If a server is silent for a third of that, or a few
    /// seconds, and there are others, it fails with `unreachable`, and the next call goes to the next one.
    Result<Answer> send_and_wait(std::string target, const boost::json::value& body, Duration wait);

    /// Asks for leases of this TTL (zero: the default one), with an idempotency key in the body. A server that is
    /// silent is left for another one; a request that waits fails with `unreachable` then, and the next call goes
    /// there.
    Result<Answer> acquire(const boost::json::value& body, Duration wait, Duration ttl);
    bool has_several_servers() const { return connection_.has_several_servers(); }

    HttpConnection& connection() { return connection_; }

 private:
    Result<Answer> call(const HttpRequest& request, Duration wait = {});
    Result<Answer> call_within(Duration timeout, const HttpRequest& request);

    HttpConnection connection_;
};

/// The path of a lease, its name escaped: `/v1/leases/FILE%3Ax%2317`.
std::string lease_target(std::string_view lease);

/// The code of an answer that says no.
std::string error_code_of(const Answer& answer);
/// REQUIRES: the answer is not ok().
int exit_code_of(const Answer& answer);

/// Fields of an answer, with a default for what is not there: a newer or older server must not break the display.
/// Null if there is none.
const boost::json::value& field_of(const boost::json::value& object, std::string_view field);
std::string text_of(const boost::json::value& object, std::string_view field);
bool flag_of(const boost::json::value& object, std::string_view field);
std::int64_t number_of(const boost::json::value& object, std::string_view field);
/// A number as text.
std::string count_of(const boost::json::value& object, std::string_view field);
/// An empty array if there is none.
const boost::json::array& array_of(const boost::json::value& object, std::string_view field);

/// Says why there is no answer and what to do. Returns the exit code.
int fail(const Screen& screen, const Error& error);
/// Says what the server refused. Returns the exit code.
int fail(const Screen& screen, const Answer& answer);

/// Shows what was done: with --json the answer, else for people one line. Returns the exit code.
int show_done(const Screen& screen, const Result<Answer>& answer, const std::string& done);

/// Who stands in the way, in words: `bob holds FILE:x for another 41.2s (formatting)`.
std::string describe_conflicts(const Answer& answer);

/// The sentence for a server that does not answer.
std::string describe_unreachable(std::string_view message);

/// The path of an agent, its id escaped.
std::string agent_target(const std::string& id);

/// Registers an agent, or brings it up to date (G5). An empty priority or `now` leaves it to the server: what it was,
/// else the server's time.
Result<Answer> register_agent(Api& api, const AgentArguments& agent);

}  // namespace holdfast

#pragma once

#include <holdfast/outcome.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cli/options.h"
#include "cli/screen.h"
#include "client/http_connection.h"
#include "client/transport.h"

namespace holdfast::cli {

/// The server's answer: a JSON object and its status.
struct Answer {
    int status = 0;
    JsonValue body;

    bool ok() const { return status >= 200 && status < 300; }
};

/// The server's HTTP API (docs/http-api.md), one call at a time.
class Api {
 public:
    explicit Api(const CommonOptions& options) : connection_(options.server) {}
    /// Shares the list of servers, and which of them is selected, with other connections.
    explicit Api(std::shared_ptr<client::ServerList> servers) : connection_(std::move(servers)) {}

    /// Returns any answer, including a refusal. The error is `unreachable`, `cancelled` or `not_holdfast`.
    Result<Answer> get(std::string target) { return call({"GET", std::move(target), "", ""}); }
    /// As get(), with this timeout.
    Result<Answer> get_within(Duration timeout, std::string target);
    /// Reads all pages of a list: returns an answer whose array `items` has the items of every page. REQUIRES: the
    /// target has a query.
    Result<Answer> get_all(const std::string& target, std::string_view items);
    /// REQUIRES: the request is idempotent. If a server is silent, another one is asked.
    Result<Answer> send(std::string method, std::string target, const JsonValue& body);
    /// A request of the client library (client/messages.h), whose answer may take `wait` longer than usual.
    Result<Answer> send(const client::HttpRequest& request, Duration wait = {}) { return call(request, wait); }
    Result<Answer> remove(std::string target) { return call({"DELETE", std::move(target), "", ""}); }

    /// A POST whose answer may take `wait` longer than usual. If a server is silent for a third of that, or a few
    /// seconds, and there are others, the call fails with `unreachable`, and the next call goes to the next server.
    Result<Answer> send_and_wait(std::string target, const JsonValue& body, Duration wait);

    /// Requests leases. If a server is silent, another one is asked; a request that waits then fails with
    /// `unreachable`, and the next call goes to the next server.
    Result<Answer> acquire(const client::AcquireAsk& ask);
    bool has_several_servers() const { return connection_.has_several_servers(); }

    client::HttpConnection& connection() { return connection_; }
    /// What this server answered. Error `not_holdfast`.
    Result<Answer> read(const client::HttpResponse& response) const;

 private:
    Result<Answer> call(const client::HttpRequest& request, Duration wait = {});
    Result<Answer> call_within(Duration timeout, const client::HttpRequest& request);

    client::HttpConnection connection_;
};

/// The path with those parameters that have a value, which is escaped: `/v1/leases?holder=H&limit=1000`.
std::string with_query(std::string path, const std::vector<std::pair<std::string_view, std::string>>& parameters);

/// The code of an error answer.
ErrorCode error_code_of(const Answer& answer);
/// REQUIRES: the answer is not ok().
int exit_code_of(const Answer& answer);
/// True if the server cannot answer at the moment, whatever the request.
bool is_temporary(const Answer& answer);

/// A number of milliseconds in an answer; zero if it is none.
std::chrono::milliseconds ms_of(const JsonValue& value);
/// The same as people read it.
std::string duration_of(const JsonValue& value);

/// `room-1`, or `@team/room-1` outside the default namespace.
std::string shown_name(const std::string& name_space, const std::string& name);

/// Prints why there is no answer and what to do. Returns the exit code.
int fail(const Screen& screen, const Error& error);
/// The same with another exit code than that of the error.
int fail(const Screen& screen, const Error& error, int exit_code);
/// Prints the server's refusal. Returns the exit code.
int fail(const Screen& screen, const Answer& answer);

/// Prints the error or the refusal and returns the exit code. Returns nothing if there is neither.
std::optional<int> failed(const Screen& screen, const Result<Answer>& answer);

/// Prints the error or the refusal, or with --json the answer, and returns the exit code. Returns nothing if the answer
/// is still to be shown to people.
std::optional<int> fail_or_show_json(const Screen& screen, const Result<Answer>& answer);

/// Prints the result: with --json the answer, otherwise the line `done`. Returns the exit code.
int show_done(const Screen& screen, const Result<Answer>& answer, const std::string& done);

/// With --json: the answers to one request for each of several things.
void show_results(const Screen& screen, JsonValue::List results);

/// A list of the server, as a table.
struct Listing {
    std::string target;  ///< with a query
    std::string items;   ///< the array in the answer
    std::vector<std::string> headings;
    std::function<Table::Row(const JsonValue& item)> row;
    std::string none;  ///< the note if there are no items
};
/// Reads all pages and prints them. Returns the exit code.
int show_list(const CommonOptions& options, const Listing& listing);

/// A refusal as the failure that it means. REQUIRES: the answer is not ok().
Failure failure_of(const Answer& answer);
/// The failure as text: who holds the lease and until when, or what to do about it.
std::string describe(const Failure& failure);
/// `bob holds FILE:x for another 41.2s unless renewed (formatting)`.
std::string describe(const std::vector<Conflict>& conflicts);
/// The sentence for a server that does not answer.
std::string describe_unreachable(std::string_view message);

/// Registers an agent, or updates it (G5). With an empty priority or `now` the server keeps the agent's earlier
/// priority; for a new agent it uses its own time.
Result<Answer> register_agent(Api& api, const AgentArguments& agent);

}  // namespace holdfast::cli

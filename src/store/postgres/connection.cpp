#include "store/postgres/connection.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <cstdlib>
#include <fmt/format.h>
#include <functional>
#include <libpq-fe.h>
#include <memory>
#include <openssl/ssl.h>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/clock.h"
#include "base/result.h"
#include "store/postgres/schema.h"

namespace holdfast::store::postgres {

using Parameters = std::vector<std::pair<std::string, std::string>>;

/// Adds the addresses (`hostaddr`) of the named hosts to the parameters of a connection, so that libpq does not resolve
/// them itself, which would block. Calls back from the loop; error `store_unavailable`.
void find_addresses(boost::asio::io_context& loop, Parameters parameters,
                    std::function<void(Result<Parameters>)> reply);

namespace {

using boost::asio::ip::tcp;

std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> parts;
    std::size_t from = 0;
    for (std::size_t comma; (comma = list.find(',', from)) != std::string::npos; from = comma + 1)
        parts.push_back(list.substr(from, comma - from));
    parts.push_back(list.substr(from));
    return parts;
}

void append(std::string& list, const std::string& part) {
    if (!list.empty()) list += ',';
    list += part;
}

/// Resolves the hosts one after the other. A host with several addresses becomes several hosts.
class Lookup final : public std::enable_shared_from_this<Lookup> {
 public:
    Lookup(boost::asio::io_context& loop, Parameters parameters, std::function<void(Result<Parameters>)> reply)
        : resolver_(loop), parameters_(std::move(parameters)), reply_(std::move(reply)) {
        hosts_ = split(*get("host"));
        if (const std::string* ports = get("port")) ports_ = split(*ports);
    }

    static bool needed(const Parameters& parameters) {
        bool named = false;
        for (const auto& [name, value] : parameters) {
            if (name == "hostaddr" && !value.empty()) return false;
            if (name == "host") named = is_a_name(value);
        }
        return named;
    }

    void next() {
        if (at_ == hosts_.size()) return finish();
        const std::string& host = hosts_[at_];
        resolver_.async_resolve(host, "", [self = shared_from_this()](boost::system::error_code error, auto found) {
            if (error && self->hosts_.size() == 1)
                return self->reply_(Error{Code::store_unavailable, self->hosts_[0] + ": " + error.message()});
            if (!error) self->take(found);
            ++self->at_;
            self->next();
        });
    }

 private:
    /// True for names and addresses; false for socket directories, which libpq also accepts.
    static bool is_a_name(const std::string& hosts) {
        const auto parts = split(hosts);
        return std::all_of(parts.begin(), parts.end(),
                           [](const std::string& host) { return !host.empty() && host[0] != '/' && host[0] != '@'; });
    }

    const std::string* get(std::string_view wanted) const {
        for (const auto& [name, value] : parameters_)
            if (name == wanted) return &value;
        return nullptr;
    }

    void take(const tcp::resolver::results_type& found) {
        for (const auto& entry : found) {
            append(found_hosts_, hosts_[at_]);
            append(found_addresses_, entry.endpoint().address().to_string());
            if (ports_.size() > 1) append(found_ports_, at_ < ports_.size() ? ports_[at_] : ports_.back());
        }
    }

    void finish() {
        if (found_hosts_.empty())
            return reply_(Error{Code::store_unavailable, "none of the hosts has an address: " + *get("host")});
        for (auto& [name, value] : parameters_) {
            if (name == "host") value = found_hosts_;
            if (name == "port" && !found_ports_.empty()) value = found_ports_;
        }
        parameters_.emplace_back("hostaddr", found_addresses_);
        reply_(std::move(parameters_));
    }

    tcp::resolver resolver_;
    Parameters parameters_;
    std::function<void(Result<Parameters>)> reply_;
    std::vector<std::string> hosts_, ports_;
    std::string found_hosts_, found_addresses_, found_ports_;
    std::size_t at_ = 0;
};

}  // namespace

void find_addresses(boost::asio::io_context& loop, Parameters parameters,
                    std::function<void(Result<Parameters>)> reply) {
    if (Lookup::needed(parameters))
        return std::make_shared<Lookup>(loop, std::move(parameters), std::move(reply))->next();
    boost::asio::post(loop, [parameters = std::move(parameters), reply = std::move(reply)]() mutable {
        reply(std::move(parameters));
    });
}

namespace {

constexpr Duration setup_within = 10s;  // the schema may have to be created, concurrently with other fronts
constexpr Duration look_every = 500ms;
constexpr Duration ask_after = 2s;  // of silence
constexpr int oldest_server = 150000;

using Descriptor = boost::asio::posix::stream_descriptor;

constexpr const char* not_replicated = "the wait of a commit for a synchronous standby was cancelled";

}  // namespace

const char* const no_answer = "the server did not answer in time";

std::string first_line(const char* message) {
    std::string_view text(message == nullptr ? "" : message);
    text = text.substr(0, text.find('\n'));
    while (text.ends_with(' '))
        text.remove_suffix(1);
    return text.empty() ? "no reason was given" : std::string(text);
}

Connection::Connection(boost::asio::io_context& loop, Owner& owner, const Settings& settings)
    : loop_(loop), owner_(owner), settings_(settings), socket_(loop), timer_(loop) {}

Connection::~Connection() {
    if (socket_.is_open()) socket_.release();
    PQfinish(handle_);
}

void Connection::start() {
    state_ = State::connecting;
    give_up_at_ = store_clock_now() + settings_.connect_within;
    tick();
    find_addresses(loop_, settings_.parameters, [self = shared_from_this()](Result<Parameters> found) {
        if (self->state_ == State::closed) return;
        if (!found) return self->close(found.error().message);
        std::vector<const char*> names, values;
        for (const auto& [name, value] : *found) {
            names.push_back(name.c_str());
            values.push_back(value.c_str());
        }
        names.push_back(nullptr);
        values.push_back(nullptr);
        self->handle_ = PQconnectStartParams(names.data(), values.data(), 0);
        self->connect();
    });
}

void Connection::connect() {
    if (handle_ == nullptr) return close("no memory for a connection");
    if (PQstatus(handle_) == CONNECTION_BAD) return fail();
    PQsetNoticeReceiver(handle_, &Connection::on_server_notice, this);
    boost::system::error_code failed;
    socket_.assign(PQsocket(handle_), failed);
    if (failed) return close(failed.message());
    socket_.async_wait(Descriptor::wait_write, [self = shared_from_this()](boost::system::error_code error) {
        if (!error && self->state_ == State::connecting) self->poll_connecting();
    });
}

/// libpq may continue with another socket of the same number, so the fd is released before each step.
void Connection::poll_connecting() {
    socket_.release();
    const PostgresPollingStatusType next = PQconnectPoll(handle_);
    if (next == PGRES_POLLING_FAILED) return fail();
    boost::system::error_code failed;
    socket_.assign(PQsocket(handle_), failed);
    if (failed) return close(failed.message());
    if (next == PGRES_POLLING_OK) {
        if (PQsetnonblocking(handle_, 1) != 0) return fail();
        give_up_at_ = store_clock_now() + setup_within;
        ask(State::greeting, hello_sql(settings_.schema));
        return wait_to_read();
    }
    const auto wait = next == PGRES_POLLING_READING ? Descriptor::wait_read : Descriptor::wait_write;
    socket_.async_wait(wait, [self = shared_from_this()](boost::system::error_code error) {
        if (!error && self->state_ == State::connecting) self->poll_connecting();
    });
}

void Connection::wait_to_read() {
    socket_.async_wait(Descriptor::wait_read, [self = shared_from_this()](boost::system::error_code error) {
        if (self->state_ == State::closed || error == boost::asio::error::operation_aborted) return;
        if (error) return self->close(error.message());
        self->on_readable();
        if (self->state_ != State::closed) self->wait_to_read();
    });
}

void Connection::on_readable() {
    heard_at_ = store_clock_now();
    bool works = PQconsumeInput(handle_) == 1;
    // Data that TLS has already decrypted does not make the socket readable again.
    const auto* tls = static_cast<const SSL*>(PQsslStruct(handle_, "OpenSSL"));
    while (works && tls != nullptr && SSL_pending(tls) > 0)
        works = PQconsumeInput(handle_) == 1;
    // Replies received before the end are still valid, and often give the reason.
    if (state_ == State::ready)
        read_answers();
    else
        read_setup();
    if (state_ == State::closed) return;
    read_notices();
    if (state_ != State::closed && (!works || PQstatus(handle_) == CONNECTION_BAD)) fail();
}

void Connection::flush() {
    if (writing_) return;
    const int rest = PQflush(handle_);
    if (rest < 0) return fail();
    if (rest == 0) return;
    writing_ = true;
    socket_.async_wait(Descriptor::wait_write, [self = shared_from_this()](boost::system::error_code error) {
        self->writing_ = false;
        if (!error && self->state_ != State::closed) self->flush();
    });
}

bool Connection::is_late(Instant now) const {
    if (state_ != State::ready) return now >= give_up_at_;
    return !groups_.empty() && now - heard_at_ >= settings_.answer_within;
}

/// Also pings an idle server: one that is suspended or cut off sends nothing.
void Connection::tick() {
    const Instant now = store_clock_now();
    if (stalled_) return close(no_answer);
    if (is_late(now)) {
        stalled_ = true;
        owner_.on_stalled(*this);
        if (state_ == State::closed) return;
    } else if (state_ == State::ready && groups_.empty() && now - heard_at_ >= ask_after) {
        Group ping;
        ping.calls.push_back(std::make_shared<Call>());
        ping.calls.back()->statement = statement::now;
        send(std::move(ping));
        if (state_ == State::closed) return;
    }
    timer_.expires_after(std::min<Duration>(look_every, settings_.answer_within / 4));
    timer_.async_wait([self = shared_from_this()](boost::system::error_code error) {
        if (!error && self->state_ != State::closed) self->tick();
    });
}

void Connection::fail() {
    close(last_words_.empty() ? first_line(PQerrorMessage(handle_)) : last_words_);
}

/// A server that ends an idle connection gives its reason in such a notice. A commit whose wait for a standby is
/// cancelled yields only a warning: the data is written, but not on the standby. The text of that warning depends on
/// the server's language, so the source function is compared.
void Connection::on_server_notice(void* self, const pg_result* notice) {
    auto& connection = *static_cast<Connection*>(self);
    const auto says = [&](int field, std::string_view what) {
        const char* text = PQresultErrorField(notice, field);
        return text != nullptr && text == what;
    };
    if (says(PG_DIAG_SEVERITY_NONLOCALIZED, "FATAL"))
        connection.last_words_ = first_line(PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY));
    if (says(PG_DIAG_SOURCE_FUNCTION, "SyncRepWaitForLSN")) connection.unreplicated_ = true;
}

void Connection::close(std::string why) {
    if (state_ == State::closed) return;
    const auto alive = shared_from_this();
    state_ = State::closed;
    timer_.cancel();
    if (socket_.is_open()) socket_.release();
    PQfinish(std::exchange(handle_, nullptr));
    std::vector<Group> lost(std::make_move_iterator(groups_.begin()), std::make_move_iterator(groups_.end()));
    groups_.clear();
    bytes_ = 0;
    owner_.on_closed(*this, why, std::move(lost));
}

// ---- setup ----

void Connection::ask(State state, const std::string& sql) {
    state_ = state;
    answer_.reset();
    if (PQsendQuery(handle_, sql.c_str()) != 1) return fail();
    flush();
}

void Connection::read_setup() {
    while (state_ != State::closed && state_ != State::ready && PQisBusy(handle_) == 0) {
        std::shared_ptr<pg_result> result(PQgetResult(handle_), PQclear);
        if (unreplicated_) return close(not_replicated);
        if (result == nullptr) {
            if (PQstatus(handle_) == CONNECTION_BAD) return fail();
            return on_setup_answer();
        }
        const ExecStatusType status = PQresultStatus(result.get());
        if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
            const char* message = PQresultErrorField(result.get(), PG_DIAG_MESSAGE_PRIMARY);
            return close(first_line(message != nullptr ? message : PQresultErrorMessage(result.get())));
        }
        answer_ = std::move(result);
    }
}

void Connection::on_setup_answer() {
    if (answer_ == nullptr) return close("an answer is missing");
    switch (state_) {
        case State::greeting:
            if (!take_hello(*answer_)) return;
            break;
        case State::asking:
            if (!take_version(*answer_)) return;
            break;
        case State::migrating:
            migrated_ = true;
            ask(State::asking, version_sql(settings_.schema));
            break;
        case State::preparing:
            give_up_at_ = store_clock_now() + settings_.answer_within;
            // The listening connection writes nothing that waits for a standby.
            ask(State::proving, settings_.listens ? "SELECT 1" : "EXECUTE " + std::string(statement::probe));
            break;
        case State::proving:
            if (PQenterPipelineMode(handle_) != 1) return fail();
            state_ = State::ready;
            heard_at_ = store_clock_now();
            return owner_.on_ready(*this);
        default:
            return;
    }
}

bool Connection::take_hello(pg_result& result) {
    const auto text = [&](const char* column) {
        const int index = PQfnumber(&result, column);
        return std::string(index < 0 || PQntuples(&result) != 1 ? "" : PQgetvalue(&result, 0, index));
    };
    if (text("number").empty() || text("history").empty()) return close("the server does not identify itself"), false;
    if (std::atoi(text("number").c_str()) < oldest_server)
        return close(fmt::format("PostgreSQL {} is too old: Holdfast needs 15 or newer", text("version"))), false;
    if (text("refuses") != "f")
        return close("the server is a standby, or read-only: it takes one that can write"), false;
    hello_ = {.history = text("history"),
              .life = text("history") + "." + text("started"),
              .version = text("version"),
              .place = std::strtoull(text("place").c_str(), nullptr, 10),
              .clock = std::atoll(text("clock").c_str()),
              .heard_at = store_clock_now()};
    backend_ = {std::atoi(text("pid").c_str()), std::atoll(text("backend_started").c_str())};
    if (text("made") == "t")
        ask(State::asking, version_sql(settings_.schema));
    else
        ask(State::migrating, migrate_sql(settings_.schema));
    return state_ != State::closed;
}

bool Connection::take_version(pg_result& result) {
    const int version = PQntuples(&result) == 1 ? std::atoi(PQgetvalue(&result, 0, 0)) : -1;
    if (version > schema_version)
        return close(fmt::format("schema {} has version {}, and this program knows none above {}: it must be upgraded",
                                 settings_.schema, version, schema_version)),
               false;
    if (version < 0 || (version < schema_version && migrated_))
        return close(fmt::format("schema {} is not one of ours", settings_.schema)), false;
    if (version < schema_version) {
        ask(State::migrating, migrate_sql(settings_.schema));
    } else {
        std::string sql = prepare_sql(settings_.schema, to_ms(settings_.answer_within));
        if (settings_.listens) sql += "; LISTEN " + settings_.schema;
        ask(State::preparing, sql);
    }
    return state_ != State::closed;
}

// ---- calls ----

void Connection::send(Group group) {
    HOLDFAST_ASSERT(state_ == State::ready && !group.calls.empty());
    group.sent_at = store_clock_now();
    if (groups_.empty()) heard_at_ = group.sent_at;
    bytes_ += group.bytes;
    groups_.push_back(std::move(group));
    auto& sent = groups_.back();
    bool works = true;
    if (sent.swap)
        works = add(statement::swap, *sent.swap);
    else
        for (const CallPtr& call : sent.calls)
            works = works && add(call->statement, call->params);
    if (!works || PQpipelineSync(handle_) != 1) return fail();
    flush();
}

bool Connection::add(const char* statement, const Params& params) {
    const Params::Pointers with = params.pointers();
    return PQsendQueryPrepared(handle_, statement, params.count(), with.values.data(), with.lengths.data(),
                               with.formats.data(), 1) == 1;
}

void Connection::read_answers() {
    int nothing = 0;
    while (!groups_.empty() && PQisBusy(handle_) == 0) {
        PGresult* result = PQgetResult(handle_);
        if (unreplicated_) {
            PQclear(result);
            return close(not_replicated);
        }
        if (result != nullptr) {
            nothing = 0;
            take_answer(result);
            if (state_ == State::closed) return;
        } else if (PQstatus(handle_) == CONNECTION_BAD || ++nothing > 2) {
            return fail();
        }
    }
}

/// Nothing separates the replies of two calls; each group ends with a sync marker.
void Connection::take_answer(pg_result* result) {
    Group& group = groups_.front();
    switch (PQresultStatus(result)) {
        case PGRES_TUPLES_OK:
        case PGRES_COMMAND_OK:
            group.answers.emplace_back(Rows(result));
            return;
        case PGRES_PIPELINE_SYNC:
            PQclear(result);
            return end_group();
        case PGRES_PIPELINE_ABORTED:
            PQclear(result);
            group.answers.emplace_back(std::nullopt);
            return;
        default:
            break;
    }
    const std::shared_ptr<pg_result> freed(result, PQclear);
    const auto field = [&](int code) {
        const char* text = PQresultErrorField(result, code);
        return std::string(text == nullptr ? "" : text);
    };
    const std::string severity = field(PG_DIAG_SEVERITY_NONLOCALIZED);
    const std::string message = first_line(field(PG_DIAG_MESSAGE_PRIMARY).c_str());
    if (severity != "ERROR") return close(severity.empty() ? first_line(PQresultErrorMessage(result)) : message);
    group.answers.emplace_back(std::nullopt);
    if (!group.failed) group.failed = Failure{field(PG_DIAG_SQLSTATE), message};
}

void Connection::end_group() {
    Group group = std::move(groups_.front());
    groups_.pop_front();
    bytes_ -= group.bytes;
    // A commit may fail after all its statements were answered; that error precedes the sync marker.
    if (!group.failed && group.answers.size() != (group.swap ? 1 : group.calls.size())) {
        groups_.push_front(std::move(group));
        return close("the server gave as many answers as nobody asked for");
    }
    owner_.on_group(*this, std::move(group));
}

void Connection::read_notices() {
    while (state_ != State::closed) {
        const std::shared_ptr<PGnotify> notify(PQnotifies(handle_), PQfreemem);
        if (notify == nullptr) return;
        if (notify->relname == settings_.schema) owner_.on_notify(notify->extra);
    }
}

}  // namespace holdfast::store::postgres

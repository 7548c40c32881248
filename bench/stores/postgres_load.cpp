// Puts load on a PostgreSQL as a program does that keeps its locks in a table of its own there:
//     postgres_load pipeline|statement CLIENTS LOCKS_EACH TTL_MS ATTEMPT_MS PORT
// Orders and answers are those of load.h. Each operation is one prepared statement that commits by itself. A heartbeat
// is a pipeline of as many as it has leases, with one commit, or one statement that names them all. Each client has a
// connection, which is faster than sharing them: their commits reach the disk together.

#include <algorithm>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <sys/epoll.h>
#include <unistd.h>

#include "load.h"
#include "postgres_connection.h"

namespace holdfast::bench {
namespace {

/// What is renewed changes no index and finds room on its page, which is the cheapest that PostgreSQL can do.
constexpr const char* table = R"sql(
SET client_min_messages = warning;
SELECT pg_advisory_lock(8);
CREATE TABLE IF NOT EXISTS lock (name text PRIMARY KEY, holder text NOT NULL, ends_at timestamptz NOT NULL)
    WITH (fillfactor = 60);
SELECT pg_advisory_unlock(8)
)sql";

constexpr const char* statements = R"sql(
PREPARE acquire(text, text, bigint) AS
    INSERT INTO lock VALUES ($1, $2, clock_timestamp() + $3 * interval '1 ms')
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, ends_at = excluded.ends_at
        WHERE lock.ends_at <= clock_timestamp()
    RETURNING name;
PREPARE renew(text, text, bigint) AS
    UPDATE lock SET ends_at = clock_timestamp() + $3 * interval '1 ms'
    WHERE name = $1 AND holder = $2 AND ends_at > clock_timestamp() RETURNING name;
PREPARE heartbeat(text[], text, bigint) AS
    UPDATE lock SET ends_at = clock_timestamp() + $3 * interval '1 ms'
    WHERE name = ANY($1) AND holder = $2 AND ends_at > clock_timestamp() RETURNING name;
PREPARE release(text, text) AS DELETE FROM lock WHERE name = $1 AND holder = $2 RETURNING name
)sql";

struct Client {
    std::uint32_t number = 0;
    std::unique_ptr<PostgresConnection> connection;
    std::string holder;
    std::vector<std::string> locks;
    std::size_t at = 0;
    std::size_t taken = 0;  ///< of the leases to be renewed
    std::string heartbeat;  ///< their names
    const char* step = "";
    bool done = true;
    SteadyClock::time_point asked, resume_at;
};

class PostgresLoad final : public Load {
 public:
    PostgresLoad(Setting setting, bool one_statement);
    ~PostgresLoad() override { close(poll_fd_); }
    void run(Operation operation, SteadyClock::time_point until, Score& score) override;

 private:
    bool all_hold(std::uint32_t leases) const override;
    void begin(Client& client);
    void ask(Client& client, const char* step);
    void on_answer(Client& client, const PostgresConnection::Answer& answer);
    void fail(Client& client, const std::string& why);
    void finish(Client& client);
    void look_at_the_time();

    Setting setting_;
    bool one_statement_;
    std::string ttl_;
    int poll_fd_ = -1;
    std::vector<Client> clients_;
    Operation operation_ = Operation::cycle;
    SteadyClock::time_point until_;
    Score* score_ = nullptr;
    std::size_t open_ = 0;
};

PostgresLoad::PostgresLoad(Setting setting, bool one_statement)
    : setting_(std::move(setting)),
      one_statement_(one_statement),
      ttl_(std::to_string(setting_.ttl_ms)),
      poll_fd_(epoll_create1(EPOLL_CLOEXEC)),
      clients_(setting_.clients) {
    PostgresConnection(setting_.ports.front()).run(table);
    for (std::uint32_t i = 0; i < setting_.clients; ++i) {
        Client& client = clients_[i];
        client.number = i;
        client.connection = std::make_unique<PostgresConnection>(setting_.ports.front());
        client.connection->run(statements);
        epoll_event event{.events = EPOLLIN, .data = {.u32 = i}};
        if (epoll_ctl(poll_fd_, EPOLL_CTL_ADD, client.connection->fd(), &event) != 0)
            throw std::runtime_error("epoll_ctl");
        client.holder = setting_.holder_name(i);
        for (std::uint32_t lock = 0; lock < setting_.locks_each + leases_of_a_heartbeat; ++lock)
            client.locks.push_back(setting_.lock_name(i, lock));
        for (std::size_t lock = setting_.locks_each; lock < client.locks.size(); ++lock)
            client.heartbeat += (client.heartbeat.empty() ? "{" : ",") + client.locks[lock];
        client.heartbeat += '}';
    }
}

bool PostgresLoad::all_hold(std::uint32_t leases) const {
    return std::all_of(clients_.begin(), clients_.end(), [&](const Client& each) { return each.taken >= leases; });
}

void PostgresLoad::run(Operation operation, SteadyClock::time_point until, Score& score) {
    operation_ = operation;
    until_ = until;
    score_ = &score;
    open_ = clients_.size();
    for (Client& client : clients_) {
        client.done = false;
        begin(client);
    }
    epoll_event events[64];
    while (open_ > 0) {
        const int ready = epoll_wait(poll_fd_, events, std::size(events), 2);
        for (int i = 0; i < ready; ++i) {
            Client& client = clients_[events[i].data.u32];
            if (const auto answer = client.connection->receive()) on_answer(client, *answer);
        }
        look_at_the_time();
    }
}

void PostgresLoad::begin(Client& client) {
    client.asked = SteadyClock::now();
    if (client.asked >= until_) return finish(client);
    if (operation_ == Operation::cycle || client.taken < leases_to_hold(operation_)) return ask(client, "acquire");
    ask(client, operation_ == Operation::renew ? "renew" : "heartbeat");
}

void PostgresLoad::finish(Client& client) {
    client.done = true;
    --open_;
}

void PostgresLoad::ask(Client& client, const char* step) {
    client.step = step;
    const std::string_view word = step;
    const auto add = [&](const char* statement, const std::string& name) {
        std::vector<const char*> values{name.c_str(), client.holder.c_str()};
        if (word != "release") values.push_back(ttl_.c_str());
        client.connection->add(statement, values);
    };
    const auto held = client.locks.begin() + setting_.locks_each;
    if (word == "heartbeat" && one_statement_)
        add("heartbeat", client.heartbeat);
    else if (word == "heartbeat" || word == "renew")
        std::for_each(held, held + leases_to_hold(operation_), [&](const std::string& name) { add("renew", name); });
    else
        add(step, operation_ == Operation::cycle ? client.locks[client.at] : held[client.taken]);
    client.connection->commit();
}

void PostgresLoad::on_answer(Client& client, const PostgresConnection::Answer& answer) {
    const std::string_view step = client.step;
    if (!answer.error.empty()) return fail(client, answer.error);
    if (answer.rows != (step == "heartbeat" ? leases_of_a_heartbeat : 1)) return fail(client, "not all took effect");
    if (step == "acquire" && operation_ == Operation::cycle) return ask(client, "release");
    if (step == "acquire") {
        ++client.taken;
        return begin(client);
    }
    const auto now = SteadyClock::now();
    if (now <= until_) score_->good(client.asked, now);
    client.at = (client.at + 1) % setting_.locks_each;
    begin(client);
}

void PostgresLoad::fail(Client& client, const std::string& why) {
    score_->retried(why);
    client.step = "";
    client.resume_at = SteadyClock::now() + retry_pause;
}

void PostgresLoad::look_at_the_time() {
    const auto now = SteadyClock::now();
    for (Client& client : clients_) {
        if (client.done || *client.step != '\0' || now < client.resume_at) continue;
        if (now < until_) {
            begin(client);
        } else {
            score_->still_waiting(client.asked, until_);
            finish(client);
        }
    }
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
    using namespace holdfast::bench;
    return run_load(argc, argv, {"statement", "pipeline"}, [](Setting setting, bool first_way) {
        return std::make_unique<PostgresLoad>(std::move(setting), first_way);
    });
}

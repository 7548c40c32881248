#include "postgres_peer.h"

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "base/random.h"
#include "base/text.h"
#include "ledger.h"
#include "postgres_connection.h"

namespace holdfast::bench {
namespace {

constexpr std::uint32_t leases_of_a_statement = 1000;
constexpr Milliseconds poll_pause{100};

/// What is renewed changes no index and finds room on its page, which is the cheapest that PostgreSQL can do. An index
/// of ends_at would help the sweep, and make each renewal change it.
constexpr const char* table = R"sql(
SET client_min_messages = warning;
SELECT pg_advisory_lock(9);
CREATE SEQUENCE IF NOT EXISTS lease_token;
CREATE TABLE IF NOT EXISTS lease (name text PRIMARY KEY, holder text NOT NULL, token bigint NOT NULL,
                                  ends_at timestamptz NOT NULL) WITH (fillfactor = 60);
SELECT pg_advisory_unlock(9)
)sql";

/// The token is drawn when the row is locked, and the row outlives its release: the next holder's is greater.
constexpr const char* statements = R"sql(
PREPARE acquire(text, text, bigint) AS
    INSERT INTO lease VALUES ($1, $2, nextval('lease_token'), clock_timestamp() + $3 * interval '1 ms')
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, token = nextval('lease_token'), ends_at = excluded.ends_at
        WHERE lease.ends_at <= clock_timestamp()
    RETURNING token;
PREPARE acquire_all(text[], text, bigint[]) AS
    INSERT INTO lease SELECT name, $2, nextval('lease_token'), clock_timestamp() + ttl_ms * interval '1 ms'
        FROM unnest($1, $3) AS wanted(name, ttl_ms)
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, token = nextval('lease_token'), ends_at = excluded.ends_at
        WHERE lease.ends_at <= clock_timestamp();
PREPARE renew(text, text, bigint, bigint) AS
    UPDATE lease SET ends_at = clock_timestamp() + $4 * interval '1 ms'
    WHERE name = $1 AND holder = $2 AND token = coalesce($3, token) AND ends_at > clock_timestamp();
PREPARE renew_all(text[], text, bigint) AS
    UPDATE lease SET ends_at = clock_timestamp() + $3 * interval '1 ms'
    WHERE name = ANY($1) AND holder = $2 AND ends_at > clock_timestamp();
PREPARE release(text, text, bigint) AS
    UPDATE lease SET ends_at = '-infinity'
    WHERE name = $1 AND holder = $2 AND token = coalesce($3, token) AND ends_at > clock_timestamp();
PREPARE owner(text) AS SELECT holder FROM lease WHERE name = $1 AND ends_at > clock_timestamp();
PREPARE sweep AS DELETE FROM lease WHERE ends_at <= clock_timestamp() RETURNING name;
PREPARE durable AS SELECT current_setting('fsync') || current_setting('synchronous_commit')
)sql";

struct Known {
    std::uint64_t token = 0;  ///< 0, of those that fill() took: they are compared by their holder only
    std::uint32_t ttl_ms = 0;
    Moment end;

    std::string token_text() const { return token == 0 ? "" : std::to_string(token); }
};

const char* or_null(const std::string& text) {
    return text.empty() ? nullptr : text.c_str();
}

class PostgresPeer final : public Peer {
 public:
    explicit PostgresPeer(PeerSetting setting)
        : holder_(std::move(setting.holder)), port_(setting.ports.front()), dice_(random_seed()) {}

    Promises promises() override;

    Granting acquire(const std::string& name, Milliseconds ttl) override;
    Granting await(const std::string& name, Milliseconds ttl, Milliseconds within) override;
    Doing renew(const std::string& name) override;
    Doing release(const std::string& name) override;
    bool held(const std::string& name) override;
    Showing owner(const std::string& name) override;

    void fill(Range range, Milliseconds ttl) override;
    Batching batching() override { return {.leases = leases_of_a_statement, .under_way = 1}; }
    void begin_renewals(Range) override {}
    void finish_renewals(Range range) override;

    std::string watch_ends() override;
    std::uint32_t ending_batch() override { return leases_of_a_statement; }
    void acquire_ending(std::uint32_t first, std::span<Ending> leases) override;
    void see_ends(Moment until, std::vector<SeenEnd>& seen) override;

    std::uint64_t check_locally(std::uint64_t count) override;
    void drop() override;

 private:
    struct Answer : Exchange {
        PostgresConnection::Rows rows;
    };
    /// Throws, too, if it did not take effect on `expected` rows.
    Answer ask(const char* statement, const std::vector<const char*>& values,
               std::optional<std::uint32_t> expected = {});
    Doing change(const char* statement, const std::vector<const char*>& values);

    std::string holder_;
    std::uint16_t port_;
    Random dice_;
    std::unique_ptr<PostgresConnection> connection_;
    Ledger<Known> ledger_;
    Moment next_sweep_;
};

/// An array as PostgreSQL reads it. REQUIRES: no name needs quotes.
template <class ItemOf>
std::string array_of(std::uint32_t count, ItemOf item_of) {
    std::string text = "{";
    for (std::uint32_t i = 0; i < count; ++i)
        text += (i == 0 ? "" : ",") + item_of(i);
    return text + '}';
}

PostgresPeer::Answer PostgresPeer::ask(const char* statement, const std::vector<const char*>& values,
                                       std::optional<std::uint32_t> expected) {
    try {
        if (!connection_) {
            connection_ = std::make_unique<PostgresConnection>(port_);
            connection_->run(table);
            connection_->run(statements);
        }
        Answer answer;
        answer.asked = SteadyClock::now();
        answer.rows = connection_->ask(statement, values, answer.asked + answer_limit);
        answer.answered = SteadyClock::now();
        if (expected && answer.rows.count != *expected)
            throw std::runtime_error(std::string(statement) + " took effect on " + std::to_string(answer.rows.count) +
                                     " of " + std::to_string(*expected));
        return answer;
    } catch (const std::runtime_error&) {
        connection_.reset();
        throw;
    }
}

Promises PostgresPeer::promises() {
    const auto answer = ask("durable", {}, 1);
    return {.durable = answer.rows.values.front() == "onon",
            .replicated = false,
            .token = true,
            .local_deadline = "asking + TTL, CLOCK_MONOTONIC (written for it)"};
}

Granting PostgresPeer::acquire(const std::string& name, Milliseconds ttl) {
    const std::string ttl_ms = std::to_string(ttl.count());
    const auto answer = ask("acquire", {name.c_str(), holder_.c_str(), ttl_ms.c_str()});
    Granting granting;
    static_cast<Exchange&>(granting) = answer;
    granting.granted = answer.rows.count == 1;
    if (granting.granted) {
        granting.token = parse_number(answer.rows.values.front());
        ledger_.write(name, {granting.token.value(), static_cast<std::uint32_t>(ttl.count()), answer.asked + ttl});
    } else {
        granting.why = "the row is another's";
    }
    return granting;
}

Granting PostgresPeer::await(const std::string& name, Milliseconds ttl, Milliseconds within) {
    const Moment until = SteadyClock::now() + within;
    while (true) {
        Granting granting = acquire(name, ttl);
        const Moment now = SteadyClock::now();
        if (granting.granted || now >= until) return granting;
        const Milliseconds pause = poll_pause / 2 + Milliseconds(dice_.below(poll_pause.count()));
        std::this_thread::sleep_until(std::min(until, now + pause));
    }
}

Doing PostgresPeer::change(const char* statement, const std::vector<const char*>& values) {
    const auto answer = ask(statement, values);
    const bool done = answer.rows.count == 1;
    return {{answer.asked, answer.answered}, done, done ? "" : "the row is another's, or over"};
}

Doing PostgresPeer::renew(const std::string& name) {
    Known& known = ledger_.expect(name);
    const std::string token = known.token_text(), ttl_ms = std::to_string(known.ttl_ms);
    const Doing doing = change("renew", {name.c_str(), holder_.c_str(), or_null(token), ttl_ms.c_str()});
    known.end = doing.done ? doing.asked + Milliseconds(known.ttl_ms) : Moment{};
    return doing;
}

Doing PostgresPeer::release(const std::string& name) {
    Known& known = ledger_.expect(name);
    known.end = {};
    const std::string token = known.token_text();
    return change("release", {name.c_str(), holder_.c_str(), or_null(token)});
}

bool PostgresPeer::held(const std::string& name) {
    const Known* known = ledger_.find(name);
    return known && SteadyClock::now() < known->end;
}

Showing PostgresPeer::owner(const std::string& name) {
    const auto answer = ask("owner", {name.c_str()});
    Showing showing;
    static_cast<Exchange&>(showing) = answer;
    if (!answer.rows.values.empty()) showing.holder = answer.rows.values.front();
    return showing;
}

void PostgresPeer::fill(Range range, Milliseconds ttl) {
    ledger_.filled().resize(range.first);
    in_batches(range, leases_of_a_statement, [&](Range batch) {
        const std::string names = array_of(batch.count, [&](std::uint32_t i) { return fill_name(batch.first + i); });
        const std::string ttls = array_of(batch.count, [&](std::uint32_t) { return std::to_string(ttl.count()); });
        const auto answer = ask("acquire_all", {names.c_str(), holder_.c_str(), ttls.c_str()}, batch.count);
        const Known known{0, static_cast<std::uint32_t>(ttl.count()), answer.asked + ttl};
        ledger_.filled().insert(ledger_.filled().end(), batch.count, known);
    });
}

void PostgresPeer::finish_renewals(Range range) {
    const auto known = std::span(ledger_.filled()).subspan(range.first, range.count);
    const std::string names = array_of(range.count, [&](std::uint32_t i) { return fill_name(range.first + i); });
    const std::string ttl_ms = std::to_string(known.front().ttl_ms);
    const auto answer = ask("renew_all", {names.c_str(), holder_.c_str(), ttl_ms.c_str()}, range.count);
    for (Known& each : known)
        each.end = answer.asked + Milliseconds(known.front().ttl_ms);
}

std::string PostgresPeer::watch_ends() {
    ask("sweep", {});
    next_sweep_ = SteadyClock::now() + poll_pause;
    return "a sweep every 100 ms";
}

void PostgresPeer::acquire_ending(std::uint32_t first, std::span<Ending> leases) {
    const auto count = static_cast<std::uint32_t>(leases.size());
    const std::string names = array_of(count, [&](std::uint32_t i) { return end_name(first + i); });
    const std::string ttls = array_of(count, [&](std::uint32_t i) { return std::to_string(leases[i].ttl.count()); });
    const auto answer = ask("acquire_all", {names.c_str(), holder_.c_str(), ttls.c_str()}, count);
    for (Ending& lease : leases)
        static_cast<Exchange&>(lease) = answer;
}

void PostgresPeer::see_ends(Moment until, std::vector<SeenEnd>& seen) {
    const std::size_t before = seen.size();
    do {
        if (SteadyClock::now() < next_sweep_) {
            if (until < next_sweep_) return std::this_thread::sleep_until(until);
            std::this_thread::sleep_until(next_sweep_);
        }
        next_sweep_ = SteadyClock::now() + poll_pause;
        const auto answer = ask("sweep", {});
        for (const std::string& name : answer.rows.values) {
            const auto number = number_in("end-", name);
            if (number) seen.push_back({.number = *number, .at = answer.answered});
        }
    } while (seen.size() == before && SteadyClock::now() < until);
}

std::uint64_t PostgresPeer::check_locally(std::uint64_t count) {
    const Known& known = ledger_.expect(fill_name(0));
    std::uint64_t yes = 0;
    for (std::uint64_t i = 0; i < count; ++i)
        yes += SteadyClock::now() < known.end ? 1 : 0;
    return yes;
}

void PostgresPeer::drop() {
    connection_.reset();
    ledger_.clear();
}

}  // namespace

std::unique_ptr<Peer> postgres_peer(PeerSetting setting) {
    return std::make_unique<PostgresPeer>(std::move(setting));
}

}  // namespace holdfast::bench

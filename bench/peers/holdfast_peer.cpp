#include "holdfast_peer.h"

#include <holdfast/local.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <thread>

#include "base/clock.h"
#include "base/text.h"
#include "lease/skew_margin.h"
#include "ledger.h"
#include "resp_client.h"

namespace holdfast::bench {
namespace {

struct Known {
    std::uint64_t token = 0;
    std::uint32_t ttl_ms = 0;
    HolderInstant end;  ///< as the holder sees it
};

/// Of a map, which RESP2 has as a flat array.
const codec::resp::Value* field(const codec::resp::Value& map, std::string_view name) {
    for (std::size_t i = 0; i + 1 < map.items.size(); i += 2)
        if (map.items[i].text == name) return &map.items[i + 1];
    return nullptr;
}

std::int64_t number(const codec::resp::Value& map, std::string_view name) {
    const codec::resp::Value* found = field(map, name);
    if (!found) throw std::runtime_error("an answer has no " + std::string(name));
    return found->number;
}

/// When it is over for the holder (T3).
HolderInstant end_of(const codec::resp::Value& timeline, HolderInstant sent_at) {
    return sent_at + Milliseconds(number(timeline, "expires_in_ms")) -
           lease::skew_margin(Milliseconds(number(timeline, "ttl_ms")));
}

Known known_of(const codec::resp::Value& grant, HolderInstant sent_at) {
    return {static_cast<std::uint64_t>(number(grant, "token")), static_cast<std::uint32_t>(number(grant, "ttl_ms")),
            end_of(grant, sent_at)};
}

/// How long to wait before asking again, if that helps.
std::optional<Milliseconds> retry_in(std::string_view error) {
    constexpr std::string_view label = "retry_in_ms=";
    const std::size_t at = error.rfind(label);
    if (at == std::string_view::npos) return std::nullopt;
    const auto count = parse_number(error.substr(at + label.size()));
    return count ? std::optional(Milliseconds(*count)) : std::nullopt;
}

class HoldfastPeer final : public Peer {
 public:
    explicit HoldfastPeer(PeerSetting setting)
        : holder_(std::move(setting.holder)), nodes_(setting.ports.size()), client_(std::move(setting.ports)) {}

    Promises promises() override {
        return {.durable = false,
                .replicated = nodes_ > 1,
                .token = true,
                .local_deadline = "sending + TTL - max(1 %, 50 ms), CLOCK_BOOTTIME (T3)"};
    }

    Granting acquire(const std::string& name, Milliseconds ttl) override { return await(name, ttl, Milliseconds(0)); }
    Granting await(const std::string& name, Milliseconds ttl, Milliseconds within) override;
    Doing renew(const std::string& name) override;
    Doing release(const std::string& name) override;
    bool held(const std::string& name) override;
    Showing owner(const std::string& name) override;

    void fill(Range range, Milliseconds ttl) override;
    Batching batching() override { return {.leases = 1000, .under_way = 2}; }
    void begin_renewals(Range range) override;
    void finish_renewals(Range range) override;

    std::string watch_ends() override;
    void acquire_ending(std::uint32_t first, std::span<Ending> leases) override;
    void see_ends(Moment until, std::vector<SeenEnd>& seen) override;

    std::uint64_t check_locally(std::uint64_t count) override;
    void drop() override;

 private:
    struct Renewal : Doing {
        HolderInstant end;  ///< not held if it was refused
    };
    Renewal ask_to_renew(const std::string& name, std::uint64_t token);
    Granting confirmed(const std::string& name, Granting granting);
    Granting ask_for(const std::string& name, Milliseconds ttl, Milliseconds wait);

    std::string holder_;
    std::size_t nodes_;
    RespClient client_;
    Ledger<Known> ledger_;
    std::optional<RespLink> events_;
    Lease lease_;  ///< of the library
};

Granting HoldfastPeer::ask_for(const std::string& name, Milliseconds ttl, Milliseconds wait) {
    RespCommands commands;
    commands.add({"LEASE.ACQUIRE", name, holder_, std::to_string(ttl.count()), "WAIT", std::to_string(wait.count())});
    const auto answers = client_.ask(commands, wait);
    const codec::resp::Value& answer = answers.values.front();
    Granting granting;
    static_cast<Exchange&>(granting) = answers;
    granting.granted = !answer.is_error();
    if (granting.granted) {
        const Known known = known_of(answer, answers.sent_at);
        granting.token = known.token;
        ledger_.write(name, known);
    } else {
        granting.why = answer.text;
    }
    return granting;
}

/// The server keeps the queue. It does not while it recovers, say (S1): then it tells when to come back.
Granting HoldfastPeer::await(const std::string& name, Milliseconds ttl, Milliseconds within) {
    const Moment until = SteadyClock::now() + within;
    while (true) {
        const auto left = std::chrono::ceil<Milliseconds>(until - SteadyClock::now());
        Granting granting = ask_for(name, ttl, std::max(left, Milliseconds(0)));
        if (granting.granted) return confirmed(name, granting);
        const auto pause = retry_in(granting.why);
        if (!pause || SteadyClock::now() + *pause >= until) return granting;
        std::this_thread::sleep_for(*pause);
    }
}

/// A grant that waited for its turn has used up its time by the holder's count, from when it was asked for: it is
/// renewed before it is used (T3), as the library does, too.
Granting HoldfastPeer::confirmed(const std::string& name, Granting granting) {
    Known& known = ledger_.expect(name);
    if (granting.answered - granting.asked < Milliseconds(known.ttl_ms) / 3) return granting;
    const Renewal renewal = ask_to_renew(name, known.token);
    known.end = renewal.end;
    static_cast<Exchange&>(granting) = renewal;
    granting.granted = renewal.done;
    granting.why = renewal.why;
    return granting;
}

Doing HoldfastPeer::renew(const std::string& name) {
    Known& known = ledger_.expect(name);
    const bool was_held = held(name);
    const Renewal renewal = ask_to_renew(name, known.token);
    known.end = was_held ? renewal.end : HolderInstant{};  // what is over stays over (T3)
    return renewal;
}

HoldfastPeer::Renewal HoldfastPeer::ask_to_renew(const std::string& name, std::uint64_t token) {
    RespCommands commands;
    commands.add({"LEASE.RENEW", name, std::to_string(token), holder_});
    const auto answers = client_.ask(commands);
    const codec::resp::Value& answer = answers.values.front();
    Renewal renewal;
    static_cast<Exchange&>(renewal) = answers;
    renewal.done = !answer.is_error();
    renewal.why = answer.text;
    if (renewal.done) renewal.end = end_of(answer, answers.sent_at);
    return renewal;
}

Doing HoldfastPeer::release(const std::string& name) {
    Known& known = ledger_.expect(name);
    known.end = {};
    RespCommands commands;
    commands.add({"LEASE.RELEASE", name, std::to_string(known.token), holder_});
    const auto answers = client_.ask(commands);
    const codec::resp::Value& answer = answers.values.front();
    if (answer.is_error()) return {{answers.asked, answers.answered}, false, answer.text};
    const codec::resp::Value* state = field(answer, "state");
    return {{answers.asked, answers.answered}, number(answer, "released") != 0, state ? state->text : ""};
}

bool HoldfastPeer::held(const std::string& name) {
    const Known* known = ledger_.find(name);
    return known && holder_clock_now() < known->end;
}

Showing HoldfastPeer::owner(const std::string& name) {
    RespCommands commands;
    commands.add({"LEASE.GET", name});
    const auto answers = client_.ask(commands);
    const codec::resp::Value& leases = answers.values.front();
    if (leases.is_error()) throw std::runtime_error(leases.text);
    Showing showing;
    static_cast<Exchange&>(showing) = answers;
    if (!leases.items.empty())
        if (const codec::resp::Value* holder = field(leases.items.front(), "holder")) showing.holder = holder->text;
    return showing;
}

void HoldfastPeer::fill(Range range, Milliseconds ttl) {
    const std::string ttl_ms = std::to_string(ttl.count());
    ledger_.filled().resize(range.first);
    in_batches(range, 1000, [&](Range batch) {
        RespCommands commands;
        for (std::uint32_t i = 0; i < batch.count; ++i)
            commands.add({"LEASE.ACQUIRE", fill_name(batch.first + i), holder_, ttl_ms});
        const auto answers = client_.ask(commands);
        for (const codec::resp::Value& answer : answers.values) {
            if (answer.is_error()) throw std::runtime_error(answer.text);
            ledger_.filled().push_back(known_of(answer, answers.sent_at));
        }
    });
}

void HoldfastPeer::begin_renewals(Range range) {
    const auto known = std::span(ledger_.filled()).subspan(range.first, range.count);
    std::vector<std::string> texts;
    texts.reserve(2 * range.count);
    for (std::uint32_t i = 0; i < range.count; ++i) {
        texts.push_back(fill_name(range.first + i));
        texts.push_back(std::to_string(known[i].token));
    }
    std::vector<std::string_view> words{"LEASE.RENEW", texts[0], texts[1], holder_};
    if (range.count > 1) words.push_back("ALSO");
    words.insert(words.end(), texts.begin() + 2, texts.end());
    RespCommands commands;
    commands.add(words);
    client_.begin(commands);
}

void HoldfastPeer::finish_renewals(Range range) {
    const auto answers = client_.finish();
    const codec::resp::Value& answer = answers.values.front();
    const auto renewals = range.count > 1 && !answer.is_error() ? std::span(answer.items) : std::span(&answer, 1);
    const auto refused =
        std::find_if(renewals.begin(), renewals.end(), [](const auto& each) { return each.is_error(); });
    if (refused != renewals.end() || renewals.size() != range.count) {
        client_.disconnect();
        throw std::runtime_error("not all were renewed: " + (refused != renewals.end() ? refused->text : "no answer"));
    }
    for (std::uint32_t i = 0; i < range.count; ++i)
        ledger_.filled()[range.first + i].end = end_of(renewals[i], answers.sent_at);
}

std::string HoldfastPeer::watch_ends() {
    events_.reset();
    const Moment until = SteadyClock::now() + answer_limit;
    events_.emplace(client_.port(), until);
    RespCommands commands;
    commands.add({"SUBSCRIBE", "lease:expired"});
    events_->send(commands.bytes, until);
    const auto answer = events_->receive(until);
    if (!answer || answer->is_error()) throw std::runtime_error("the server does not let one subscribe");
    return "events, channel lease:expired";
}

void HoldfastPeer::acquire_ending(std::uint32_t first, std::span<Ending> leases) {
    RespCommands commands;
    for (std::uint32_t i = 0; i < leases.size(); ++i)
        commands.add({"LEASE.ACQUIRE", end_name(first + i), holder_, std::to_string(leases[i].ttl.count())});
    const auto answers = client_.ask(commands);
    for (std::uint32_t i = 0; i < leases.size(); ++i) {
        const codec::resp::Value& answer = answers.values[i];
        if (answer.is_error()) throw std::runtime_error(answer.text);
        static_cast<Exchange&>(leases[i]) = answers;
        leases[i].ttl = Milliseconds(number(answer, "ttl_ms"));
    }
}

void HoldfastPeer::see_ends(Moment until, std::vector<SeenEnd>& seen) {
    const std::string_view label = "\"resource\":\"end-";
    if (!events_) throw std::runtime_error("nothing is watched");
    for (auto event = events_->receive(until); event; event = events_->receive({})) {
        const Moment now = SteadyClock::now();
        if (event->items.size() != 3) continue;
        const std::string& text = event->items[2].text;
        const std::size_t at = text.find(label);
        SeenEnd end{.number = 0, .at = now};
        if (at == std::string::npos) continue;
        std::from_chars(text.data() + at + label.size(), text.data() + text.size(), end.number);
        seen.push_back(end);
    }
}

/// By the library that programs use: its Lease::held() looks at one deadline, whatever server that came from.
std::uint64_t HoldfastPeer::check_locally(std::uint64_t count) {
    if (!held(fill_name(0))) throw std::runtime_error("fill-0 is not held");
    if (!lease_.held()) {
        auto acquired = Local().client(holder_).acquire(fill_name(0));
        if (!acquired) throw std::runtime_error(acquired.failure().message);
        lease_ = std::move(acquired.lease());
    }
    std::uint64_t yes = 0;
    for (std::uint64_t i = 0; i < count; ++i)
        yes += lease_.held() ? 1 : 0;
    return yes;
}

void HoldfastPeer::drop() {
    client_.disconnect();
    events_.reset();
    ledger_.clear();
}

}  // namespace

std::unique_ptr<Peer> holdfast_peer(PeerSetting setting) {
    return std::make_unique<HoldfastPeer>(std::move(setting));
}

}  // namespace holdfast::bench

#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>

#include "keys/controller/key_watch.h"
#include "keys/controller/messages.h"

namespace holdfast::core {

/// Connects to keys (K1). Whoever connects to a live key gets its backend; to a free one, one is started: the key is
/// taken first, and only then is the order given (K2).
///
/// Those who connect to one key at the same time stand in line: the first looks and takes, and what it finds or gets is
/// the answer for all of them.
class Connects {
 public:
    Connects(KeyState& book, KeyWatch& watch) : book_(book), watch_(watch) {}

    /// Names a request that may be waiting, for cancel(). 0: answered already.
    using Ticket = std::uint64_t;
    Ticket connect(ConnectRequest request, Callback<Answer<Connected>> reply);
    /// Whoever waits for a backend to become ready gives up: answered with `cancelled`. What was started stays.
    void cancel(Ticket ticket);

    /// Whoever waits is answered with `stopping`.
    void stop();

    void advance();
    Instant next_due() const;
    std::size_t size() const { return asking_count_ + waiting_.size(); }

 private:
    struct Asked {
        Ticket ticket = 0;
        ConnectRequest request;
        Callback<Answer<Connected>> reply;
        unsigned tries = 0;
    };
    /// One who waits for a backend to become ready.
    struct Waiting {
        std::string backend;
        std::uint64_t watch = 0;
        Instant until;
        bool spawned = false;
        Callback<Answer<Connected>> reply;
    };
    /// A key that is being taken, and for whom.
    struct Taking {
        std::string resource, backend, drone, life;
    };

    KeyState& book_;
    KeyWatch& watch_;
    std::map<std::string, std::deque<Asked>> asking_;  // by resource: the first is at work
    std::size_t asking_count_ = 0;
    std::set<std::string> ids_being_taken_;
    std::map<Ticket, Waiting> waiting_;
    std::set<std::pair<Instant, Ticket>> timeouts_;
    Ticket last_ticket_ = 0;

    void look(const std::string& resource);
    void looked(const std::string& resource, const Answer<std::vector<VerifyAnswer>>& answer);
    std::optional<Refused> unheard(const Lease& lease) const;
    void take(const std::string& resource);
    void taken(const Taking& taking, const AcquireAnswer& answer);
    void granted(const Taking& taking, const Lease& lease);
    void again(const std::string& resource);

    Asked pop(const std::string& resource);
    void fail(const std::string& resource, const Refused& why);
    void settle_all(const std::string& resource, const Lease& lease, bool spawned);
    void settle_first(const std::string& resource, const Backend& backend);
    void settle(Asked asked, const Backend& backend, bool spawned);
    Backend backend_under(const std::string& resource, const Lease& lease);
    void wait_for(Asked asked, const Backend& backend, bool spawned);
    Waiting stop_waiting(std::map<Ticket, Waiting>::iterator which);
    void answer_waiting(Ticket ticket, const Backend& backend);
};

}  // namespace holdfast::core

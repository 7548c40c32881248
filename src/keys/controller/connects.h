#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>

#include "keys/controller/key_watch.h"
#include "keys/controller/messages.h"

namespace holdfast::keys::controller {

/// Connects to keys (K1). A connect to a live key returns its backend. A connect to a free key starts one: the key is
/// taken first, and only then is the order given (K2).
///
/// Concurrent connects to one key are queued. The first one reads the key and takes it if it is free; its result is the
/// answer for all of them.
class Connects {
 public:
    Connects(KeyState& book, KeyWatch& watch) : book_(book), watch_(watch) {}

    /// Names a request that may be waiting, for cancel(). 0: answered already.
    using Ticket = std::uint64_t;
    Ticket connect(ConnectRequest request, Callback<authority::Answer<Connected>> reply);
    /// Stops waiting for a backend to become ready; the request is answered with `cancelled`. A backend that was
    /// started keeps running.
    void cancel(Ticket ticket);

    /// Answers all requests that wait for a backend with `stopping`.
    void stop();

    void advance();
    Instant next_due() const;
    std::size_t size() const { return asking_count_ + waiting_.size(); }

 private:
    struct Asked {
        Ticket ticket = 0;
        ConnectRequest request;
        Callback<authority::Answer<Connected>> reply;
        unsigned tries = 0;
    };
    /// A request that waits for a backend to become ready.
    struct Waiting {
        std::string backend;
        std::uint64_t watch = 0;
        Instant until;
        bool spawned = false;
        Callback<authority::Answer<Connected>> reply;
    };
    /// An acquire of a key that is under way: the backend, drone and drone incarnation that it is for.
    struct Taking {
        std::string resource, backend, drone, life;
    };

    KeyState& book_;
    KeyWatch& watch_;
    std::map<std::string, std::deque<Asked>> asking_;  // by resource: the first one is being processed
    std::size_t asking_count_ = 0;
    std::set<std::string> ids_being_taken_;
    std::map<Ticket, Waiting> waiting_;
    std::set<std::pair<Instant, Ticket>> timeouts_;
    Ticket last_ticket_ = 0;

    void look(const std::string& resource);
    void looked(const std::string& resource, const authority::Answer<std::vector<authority::VerifyAnswer>>& answer);
    std::optional<authority::Refused> unheard(const lease::Lease& lease) const;
    void take(const std::string& resource);
    void taken(const Taking& taking, const authority::AcquireAnswer& answer);
    void granted(const Taking& taking, const lease::Lease& lease);
    void again(const std::string& resource);

    Asked pop(const std::string& resource);
    void fail(const std::string& resource, const authority::Refused& why);
    void settle_all(const std::string& resource, const lease::Lease& lease, bool spawned);
    void settle_first(const std::string& resource, const Backend& backend);
    void settle(Asked asked, const Backend& backend, bool spawned);
    Backend backend_under(const std::string& resource, const lease::Lease& lease);
    void wait_for(Asked asked, const Backend& backend, bool spawned);
    Waiting stop_waiting(std::map<Ticket, Waiting>::iterator which);
    void answer_waiting(Ticket ticket, const Backend& backend);
};

}  // namespace holdfast::keys::controller

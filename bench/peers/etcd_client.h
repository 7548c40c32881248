#pragma once

#include <functional>
#include <memory>

#include "peer.h"

namespace holdfast::bench {

/// A client of etcd 3.4 by gRPC, all in the thread that calls it. It is connected to one of the nodes, and goes to the
/// next when that does not answer. Throws std::runtime_error if no node does in time.
class EtcdClient {
 public:
    explicit EtcdClient(const std::vector<std::uint16_t>& ports);
    ~EtcdClient();

    /// On which keys hang. Its TTL is in whole seconds, two at least, so that it may be longer than what was asked for.
    struct Lease : Exchange {
        std::int64_t id = 0;
        Milliseconds ttl{0};
    };
    Lease grant(Milliseconds ttl);
    std::vector<Lease> grant_all(const std::vector<Milliseconds>& ttls);
    /// Its keys are deleted with it. False: there is no such lease any more.
    Doing revoke(std::int64_t lease);

    /// A key that is put if there is none yet.
    struct Wanted {
        std::string key;
        std::int64_t lease = 0;
    };
    struct Put : Exchange {
        bool done = false;
        std::int64_t revision = 0;  ///< of the store by then; if it was done, the one at which the keys were made
    };
    Put put_if_free(const Wanted& wanted, const std::string& value);
    /// All, in transactions of many. Throws if one is there already.
    std::vector<std::int64_t> put_all(const std::vector<Wanted>& wanted, const std::string& value);
    Showing get(const std::string& key);

    /// Renews a lease by a stream that stays open, and is told the TTL, 0 if the lease is gone. Returns at once. What
    /// was under way when a stream breaks is told as failed.
    using OnKept = std::function<void(std::optional<std::chrono::seconds> ttl)>;
    void keep_alive(std::int64_t lease, OnKept on_kept);

    /// From now on, until the next of them: is told each key that is deleted, beginning with what comes after a
    /// revision. With a prefix, all keys that begin so. Returns when the server says that it watches.
    struct Watched {
        std::string key;
        bool prefix = false;
        std::int64_t after_revision = 0;  ///< 0: from now on
    };
    using OnDelete = std::function<void(const std::string& key)>;
    void watch(const Watched& watched, OnDelete on_delete);
    /// The stream broke: what was deleted since is not known.
    bool watch_is_broken() const;
    void stop_watching();

    /// Takes what comes, until one thing has come or the time is over.
    void serve(Moment until);
    /// Serves until it has happened, and throws if it does not in time.
    void wait_for(const std::function<bool()>& happened);

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::bench

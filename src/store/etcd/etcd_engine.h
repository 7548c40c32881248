#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "store/cas/engine.h"

namespace boost::asio {
class io_context;
}

namespace holdfast::store::etcd {

struct EtcdEngineOptions {
    std::vector<std::string> members;  ///< HOST:PORT each, of one cluster; the first that works is used
    std::string user, password;        ///< empty: no authentication
    std::string prefix = "holdfast";   ///< of all keys
    Duration connect_within = 2s;      ///< until a member's first reply
    Duration answer_within = 2s;
    std::size_t max_calls = 100'000;
    std::size_t max_unsent_bytes = 64 << 20;
    std::size_t max_records = 4'000'000;  ///< whose age it tracks
};

/// Parses `etcd://[user:password@]host:port[,host:port…][/prefix]`; the port defaults to 2379. Error code
/// `invalid_argument`, also for https: only cleartext is supported. No message repeats the password.
Result<EtcdEngineOptions> parse_etcd_engine(std::string_view url);

/// An engine on an etcd 3.4 cluster, using its v3 API (docs/decisions/0010-engines.md).
///
/// *Keys.* `PREFIX/r/RESOURCE` and `PREFIX/d/DOCUMENT` hold the records and documents (message Value of
/// proto/etcd.proto). `PREFIX/by-holder/HOLDER/RESOURCE` is the index for of_holder(). `PREFIX/connection/ID` exists
/// while the connection ID is in use. A swap is one transaction that compares the key's mod revision.
///
/// *Time.* etcd provides no clock, so the engine's clock is this front's own CLOCK_BOOTTIME. A write of another front
/// counts from when this front first saw it. That is after it was written, which is after its holder asked for it: here
/// a lease never ends before it does for its holder (T3), apart from the rates of two clocks (rho). A front that has
/// just started, or lags, waits longer, never shorter. `from` and `until` are checked before a swap is sent. It may
/// take effect later: `from` allows that, since time only moves on. A swap that arrives after `until` finds, by the mod
/// revision, a record that nobody has written in the meantime: nothing was granted on it that has since been renewed,
/// and its holder stops by its own clock. (A lease on other files can have been granted: for that reason, renewals of
/// `FILE:` leases are checked afterwards, see engine_store.h.)
///
/// *Lingering swaps.* Each transaction also checks that its connection's key exists, and a new connection first deletes
/// the key of the previous one. So when on_reachable() is called, everything sent before has taken effect or never
/// will, even if a member was suspended for hours before executing it.
///
/// *Cleanup.* Keys past their `keep_until` are removed by etcd leases, each shared by many records. A record that ends
/// with a notice is replaced by the notice alone for some seconds, because a deletion cannot carry it.
///
/// *Members.* One is used at a time. A member that times out, or has no leader, is left for the next, and everything in
/// flight there fails. The same holds for a member that has no space or denies permission, since nothing can be written
/// then: on_unreachable() has etcd's message, and connecting is retried until a write works.
///
/// *History* is the cluster's id, and a position is the revision of a linearizable read or a transaction. etcd cannot
/// compare its revision within a transaction. A swap compares the marker's value, and that its mod revision is no lower
/// than this front has seen. The revision of the reply is checked afterwards, so `store_lost` may also mean that the
/// swap was done. A reply of another cluster, of a lower revision than was seen when the request was sent, or with an
/// older write than was seen at an earlier revision ends the connection; all swaps in flight are then answered with
/// `store_lost`. This front forgets what it knew of that history, and on_reachable() names the new one.
std::unique_ptr<cas::Engine> make_etcd_engine(boost::asio::io_context& loop, EtcdEngineOptions options);

}  // namespace holdfast::store::etcd

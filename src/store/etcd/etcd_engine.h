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

namespace holdfast {

struct EtcdEngineOptions {
    std::vector<std::string> members;  ///< HOST:PORT each, of one cluster; the first that works is used
    std::string user, password;        ///< empty: the cluster asks nobody
    std::string prefix = "holdfast";   ///< of all keys
    Duration connect_within = 2s;      ///< until a member has answered for the first time
    Duration answer_within = 2s;
    std::size_t max_calls = 100'000;
    std::size_t max_unsent_bytes = 64 << 20;
    std::size_t max_records = 4'000'000;  ///< that it keeps the age of
};

/// Of `etcd://[user:password@]host:port[,host:port…][/prefix]`; a port that is not said is 2379. Error code
/// `invalid_argument`, also for https: this speaks cleartext only. No message repeats the password.
Result<EtcdEngineOptions> parse_etcd_engine(std::string_view url);

/// An engine on an etcd 3.4 cluster, by its v3 API (docs/decisions/0010-engines.md).
///
/// *Where things are.* `PREFIX/r/RESOURCE` and `PREFIX/d/DOCUMENT` are what is kept (message Value of
/// proto/etcd.proto), `PREFIX/by-holder/HOLDER/RESOURCE` is how of_holder() finds records, and `PREFIX/connection/ID`
/// is there while the connection ID is in use. A swap is one transaction that compares the key's mod revision.
///
/// *Time.* etcd has none to offer, so the engine's clock is this front's own CLOCK_BOOTTIME. What another front wrote
/// counts from when this one first saw it, which is after it was written, which is after its holder asked for it: here
/// a lease never ends before it does for its holder (T3), give or take the rates of two clocks (rho). A front that has
/// just started, or is behind, waits longer; never shorter. `from` and `until` are checked before a swap is sent. It
/// may take effect later than that, which `from` allows, for time only moves on. What arrives after `until` meets, by
/// the mod revision, a record that nobody has written meanwhile: nobody was granted on it what has since been renewed,
/// and its holder stops by its own count. (A lease on other files can have been: for that, renewals of `FILE:` leases
/// are looked at after, see engine_store.h.)
///
/// *CasLoop that linger.* Each transaction also compares that its connection's key is there, and the first thing a new
/// connection does is to take away the key of the one before. So when on_reachable() is told, whatever was sent before
/// has taken effect or never will, even if a member was stopped for hours with it in its hands.
///
/// *Tidiness.* What is past its `keep_until` is removed by leases of etcd's, each of which many records share. A record
/// that ends with a notice is replaced by the notice alone, for some seconds: a deletion could not carry it.
///
/// *Members.* One is used at a time. One that does not answer in time, or that knows of no leader, is left for the
/// next; what was under way there fails. So is one that has no space or gives no permission, since nothing can be
/// written then: on_unreachable() has etcd's own words, and it is tried again until a write works.
///
/// *History* is the cluster's id, and a position in it is the revision of a linearizable read or a transaction. etcd
/// cannot compare its revision within a transaction. A swap compares the marker's value, and that its mod revision is
/// no lower than this front has seen it; the revision of the answer is checked afterwards, so `store_lost` may also
/// mean that it was done. An answer of another cluster, of a lower revision than was seen when it was asked for, or
/// with an older write than was seen at an earlier revision ends the connection; all swaps under way are then answered
/// with `store_lost`. This front forgets what it knew of that history, and on_reachable() names the new one.
std::unique_ptr<core::Engine> make_etcd_engine(boost::asio::io_context& loop, EtcdEngineOptions options);

}  // namespace holdfast

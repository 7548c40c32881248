#pragma once

#include <boost/json/value.hpp>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "base/time.h"
#include "client/keeper.h"

namespace holdfast::cli::mcp {

/// The leases that an MCP server holds for its model, kept by a Keeper: it decides when to renew each (T3), and when
/// one is lost. A loss is remembered until it has been reported. May be used from several threads; it sends nothing
/// itself.
class McpLeases {
 public:
    struct Held {
        std::string id;
        std::string resource;
        std::string predicate;
        std::uint64_t token = 0;
        Duration left{};
        std::set<std::string> paths;  ///< the paths by which the model claimed it
    };
    struct Lost {
        std::string id;
        std::string resource;
        std::string code;  ///< code of the refusal that ended it; empty: no server answered in time
        std::string why;
    };

    explicit McpLeases(Random random) : keeper_(random) {}

    /// Adds or updates a lease as described in the server's grant or renewal, requested at `sent_at`. Returns false,
    /// with nothing changed, if the description is malformed or no time is left.
    bool keep(const boost::json::value& lease, HolderInstant sent_at, HolderInstant now);
    /// The instant from which the leases of a grant count: when it was requested, plus the time it then waited for its
    /// turn (T3).
    static HolderInstant counts_from(const boost::json::value& grant, HolderInstant sent_at, HolderInstant now);
    /// True if the first renewal is due already, because the answer was slow.
    static bool needs_renewal(const boost::json::value& lease, HolderInstant sent_at, HolderInstant now);
    /// The lease was released: not held any more, and not lost.
    void forget(const std::string& id);
    /// The server reported that the lease has ended.
    void lose(const std::string& id, const Error& why);
    /// Remembers a path by which the model claimed it.
    void remember_path(const std::string& id, const std::string& path);

    bool holds(const std::string& id, HolderInstant now);
    std::vector<Held> held(HolderInstant now);
    std::size_t size(HolderInstant now);
    /// The losses not reported yet. From now on they count as reported.
    std::vector<Lost> take_lost(HolderInstant now);

    /// The names of the leases to renew now. answer() or unanswered() must follow for each.
    std::vector<std::string> take_due(HolderInstant now);
    /// The server's answer for one of them: a result of POST /v1/heartbeat.
    void answer(const boost::json::value& result, HolderInstant sent_at, HolderInstant now);
    void unanswered(const std::string& id, HolderInstant now);
    /// When to call take_due() next.
    HolderInstant next();

 private:
    struct Entry {
        client::Keeper::Key key = 0;
        std::string resource;
        std::string predicate;
        std::uint64_t token = 0;
        std::set<std::string> paths;
        Error refused;  ///< why the last renewal was refused; no code: it was not refused
    };

    void settle(const std::string& id, const client::RenewalAnswer& answer, const Error& why, HolderInstant now);
    void drop_ended(HolderInstant now);
    void remember_lost(const std::string& id, const Error& why);

    std::mutex mutex_;
    client::Keeper keeper_;
    client::Keeper::Key last_key_ = 0;
    std::map<std::string, Entry> leases_;
    std::map<client::Keeper::Key, std::string> names_;
    std::vector<Lost> lost_;
};

}  // namespace holdfast::cli::mcp

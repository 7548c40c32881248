#include <array>
#include <memory>
#include <string>
#include <vector>

#include "authority/authority.h"
#include "base/glob.h"
#include "base/text.h"
#include "doors/resp/redis_call.h"
#include "doors/resp/redis_options.h"
#include "doors/resp/session.h"
#include "lease/manifest.h"

namespace holdfast::doors::resp {
namespace {

constexpr std::size_t max_keys = 100'000;                // of one KEYS
constexpr std::size_t max_key_bytes_together = 8 << 20;  // likewise
constexpr std::uint64_t match_steps = 1'000'000;         // limit of match steps for one reply, and
constexpr std::uint64_t match_steps_per_byte = 16;       // for each byte of the keys compared
constexpr std::string_view too_many_keys = "too many keys for one answer: use SCAN";
constexpr std::string_view too_slow_pattern = "this pattern takes too long to match: give it fewer * or sets";
constexpr std::size_t leases_per_page = 1000;  // of KEYS

/// One KEYS or SCAN.
struct Listing {
    Exchange& exchange;
    std::string name_space;
    std::string pattern;
    std::string prefix;
    std::string type{};  ///< empty: any
    std::size_t limit = leases_per_page;
    std::string after{};  ///< empty: the beginning, or the end
    std::vector<std::string> keys{};
    std::size_t key_bytes = 0;
    std::uint64_t steps = match_steps;
    std::string last{};  ///< the resource read last

    /// The leases of one record are adjacent, so a key with several is listed once. False if the pattern takes too
    /// long.
    bool add(const store::ListPage& page) {
        for (const store::NamedLease& named : page.leases) {
            if (named.resource == last) continue;
            last = named.resource;
            const std::string_view key = lease::split_name(named.resource).resource;
            steps += match_steps_per_byte * key.size();
            if (!of_type(named.lease)) continue;
            const bool matches = glob_matches(pattern, key, steps);
            if (steps == 0) return false;
            if (!matches) continue;
            keys.emplace_back(key);
            key_bytes += key.size();
        }
        return true;
    }
    bool of_type(const lease::Lease& lease) const {
        if (type.empty()) return true;
        return type == (redis::is_lock(lease.predicate) ? "string" : "set");
    }
};

using ListingPtr = std::shared_ptr<Listing>;

ListingPtr listing(Exchange& exchange, std::string_view pattern) {
    return std::make_shared<Listing>(Listing{exchange, redis_namespace(exchange.session().client().database),
                                             std::string(pattern), std::string(glob_prefix(pattern))});
}

void write_keys(codec::resp::ReplyWriter reply, const Listing& listing) {
    reply.array(listing.keys.size());
    for (const std::string& key : listing.keys)
        reply.bulk(key);
}

/// Fetches the next page and passes it to `then`, or replies with the error.
template <class Then>
void next_page(const ListingPtr& listing, Then then) {
    listing->exchange.authority().list({.name_space = listing->name_space,
                                        .prefix = listing->prefix,
                                        .holder = {},
                                        .limit = listing->limit,
                                        .after = listing->after},
                                       [listing, then](const authority::Answer<store::ListPage>& answer) {
                                           if (const auto* refused = std::get_if<authority::Refused>(&answer))
                                               return fail(listing->exchange, refused->detail);
                                           const store::ListPage& page = std::get<store::ListPage>(answer);
                                           if (!listing->add(page)) return fail(listing->exchange, too_slow_pattern);
                                           listing->after = page.next;
                                           then(listing);
                                       });
}

void gather_all(const ListingPtr& listing) {
    if (listing->keys.size() > max_keys || listing->key_bytes > max_key_bytes_together)
        return fail(listing->exchange, too_many_keys);
    if (!listing->after.empty()) return listing->exchange.go_on([listing] { next_page(listing, gather_all); });
    write_keys(listing->exchange.reply(), *listing);
    listing->exchange.finish();
}

void reply_with_page(const ListingPtr& listing) {
    codec::resp::ReplyWriter reply = listing->exchange.reply();
    reply.array(2);
    reply.bulk(listing->exchange.session().client().cursors.number_of(listing->after));
    write_keys(reply, *listing);
    listing->exchange.finish();
}

void keys(Exchange& exchange) {
    next_page(listing(exchange, exchange.words()[1]), gather_all);
}

void scan(Exchange& exchange) {
    const auto words = exchange.words();
    const auto cursor = parse_number(words[1]);
    if (!cursor) return fail(exchange, "invalid cursor");
    const auto parsed = parse_scan_options(words.subspan(2));
    if (const auto* error = std::get_if<OptionError>(&parsed)) return fail(exchange, *error);
    const ScanOptions& options = std::get<ScanOptions>(parsed);
    const ListingPtr page = listing(exchange, options.pattern);
    page->limit = options.count;
    page->after = exchange.session().client().cursors.next_of(*cursor);
    if (options.type) page->type = *options.type;
    next_page(page, reply_with_page);
}

constexpr std::array scan_table{
    RespCommand{"KEYS", 2, keys},
    RespCommand{"SCAN", -2, scan},
};

}  // namespace

std::span<const RespCommand> scan_commands() {
    return scan_table;
}

}  // namespace holdfast::doors::resp

#pragma once

#include <string>

#include "peer.h"

namespace holdfast::bench {

/// What `hello` tells.
struct Identity {
    std::string peer;
    std::string holder;
};

/// A client of one kind of server, told what to do by lines on standard input, and answering each with a line of JSON:
///
///     peer_client holdfast|redis|postgres|etcd|etcd-shared|zookeeper HOLDER PORT,PORT,…
///
/// One process is one holder with the connections it needs. Moments are nanoseconds of CLOCK_MONOTONIC, so that those
/// of several processes can be compared. `asked` is when a request was about to be sent, `answered` when its answer was
/// read. An order that cannot be carried out is answered with {"error": "…"}; the process goes on. Times in orders are
/// whole milliseconds.
///
///     hello                     {"peer", "holder", "promises": {"durable", "replicated", "token", "local_deadline"}}
///     acquire NAME TTL          once: {"granted", "token": number or null, "asked", "answered", "why"}
///     await NAME TTL WITHIN     the same, when it is granted or WITHIN is over; waits as the server lets one wait
///     renew NAME                {"renewed", "asked", "answered", "why"}; for the TTL it was acquired with
///     release NAME              {"released", "asked", "answered", "why"}; asks also if it knows that its time is over
///     held NAME                 {"held", "at"}: what this client knows by itself, without asking anybody
///     owner NAME                {"holder": text or null, "asked", "answered"}: what the server shows
///     fill COUNT TTL            holds the leases fill-0 … fill-(COUNT-1), and keeps those it has already:
///                               {"count", "seconds"}
///     renew-all SECONDS         renews what fill took, over and over, in the way that is fastest:
///                               {"renewed", "seconds", "rounds", "batch", "p50_us", "p99_us" (of a batch)}
///     end-over COUNT FIRST SPAN acquires COUNT leases that end evenly spread over SPAN milliseconds, the first of them
///                               FIRST from now, and watches them end: {"count", "seen", "early", "late_us": {"p50",
///                               "p99", "max"}, "late_ms_curve": [101 percentiles], "way"}. A lease ends `ttl` after
///                               `answered` at the latest and `ttl` after `asked` at the earliest: it is early if seen
///                               to end before `asked` + ttl, and late by what is beyond `answered` + ttl. It gives up
///                               30 s after the last should have ended: what was not `seen` by then counts as late by
///                               as much as it was then.
///     round-trips COUNT         asks the server COUNT times whether fill-0 is still held:
///                               {"count", "p50_ns", "mean_ns"}
///     local-checks COUNT        asks itself, as `held` does: {"count", "mean_ns"}
///     drop                      forgets all without telling the server, as a process that dies: {"dropped"}
///     quit                      the end of standard input means the same
///
/// The exit code.
int serve_orders(Peer& peer, Identity identity);

}  // namespace holdfast::bench

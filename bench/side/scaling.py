"""Growth on paper: what a server and a quorum carry, by what a lease and a renewal were measured to take. Every line shows its
arithmetic, so that anybody can put in figures of their own."""

import statistics

import report

MEMORY_GIB = 8
TTL_S, RENEW_EVERY_S = 30, 10
SHARE = 0.5  # of a processor; the rest is for what comes all at once
LINK_MBIT = 1000


def figures_of(found):
    """{"holdfast": {"bytes", "cpu_us", "sent", "cycle_us", "size"}, "holdfast x3": …}, medians over the rounds."""
    def median(part, name, key):
        return statistics.median(report.figures(found["parts"][part]["rounds"], name, key))

    size = report.sizes_of(found["parts"]["renew"]["rounds"], "cpu_us")[-1]
    clients = report.sizes_of(found["parts"]["lock"]["rounds"], "per_second")[-1]
    return {name: {"bytes": median("memory", name, "bytes"), "cpu_us": median("renew", name, f"cpu_us/{size}"),
                   "sent": median("renew", name, f"sent_bytes/{size}"), "cycle_us": median("lock", name, f"cpu_us/{clients}"),
                   "size": size, "clients": clients, "date": found["date"], "quick": found["quick"]}
            for name in (report.ONE, report.THREE)}


def carried(figures, nodes):
    """What the figures come to. CPU and memory were measured over all nodes together; here they are of one."""
    memory = MEMORY_GIB * 2**30 / (figures["bytes"] / nodes)
    renewals = SHARE * 1e6 / (figures["cpu_us"] / nodes)
    cycles = SHARE * 1e6 / (figures["cycle_us"] / nodes)
    return {"leases_by_memory": memory, "renewals": renewals, "leases_by_renewals": renewals * RENEW_EVERY_S, "cycles": cycles,
            "leases": min(memory, renewals * RENEW_EVERY_S), "mbit": renewals * figures["sent"] * 8 / 1e6,
            "leases_by_link": SHARE * LINK_MBIT * 1e6 / 8 / figures["sent"] * RENEW_EVERY_S}


def lines_of(title, figures, nodes):
    got = carried(figures, nodes)
    share = "" if nodes == 1 else f" / {nodes} nodes"
    of_each = f"{SHARE:.0%} of one processor" + ("" if nodes == 1 else " of each node")
    busy = f"{SHARE} x 1,000,000 us"
    sent = f"{figures['sent']:.0f} B"
    rows = [
        (f"leases in {MEMORY_GIB} GiB of a node", f"{MEMORY_GIB} x 2^30 B / ({figures['bytes']:.0f} B{share})",
         f"{got['leases_by_memory']:,.0f}"),
        (f"renewals per second, {of_each}", f"{busy} / ({figures['cpu_us']:.2f} us{share})", f"{got['renewals']:,.0f}"),
        (f"leases with a TTL of {TTL_S} s, renewed every {RENEW_EVERY_S} s", f"{got['renewals']:,.0f} x {RENEW_EVERY_S} s",
         f"{got['leases_by_renewals']:,.0f}"),
        ("network at so many renewals", f"{got['renewals']:,.0f} x {sent} x 8", f"{got['mbit']:,.1f} Mbit/s"),
        (f"leases by the network, {SHARE:.0%} of {LINK_MBIT:,} Mbit/s, as if all of it went over one link",
         f"{SHARE} x {LINK_MBIT / 8:.0f} MB/s / {sent} x {RENEW_EVERY_S} s", f"{got['leases_by_link']:,.0f}"),
        (f"acquire and release per second, {of_each}", f"{busy} / ({figures['cycle_us']:.1f} us{share})", f"{got['cycles']:,.0f}")]
    limits = {"memory": got["leases_by_memory"], "renewals": got["leases_by_renewals"], "network": got["leases_by_link"]}
    least = min(limits, key=limits.get)
    return "\n\n".join([f"**{title}**", report.markdown_table(["", "arithmetic", "gives"], rows),
                        f"The least of these is by {least}: about **{limits[least]:,.0f} leases**."])


def quorums_for(leases, figures):
    """How many quorums carry so many leases, by names divided between them."""
    each = carried(figures, 3)
    return max(1, -(-leases // int(min(each["leases"], each["leases_by_link"]))))


def body(figures):
    one, three = figures[report.ONE], figures[report.THREE]
    rows = [[f"{count:,}", f"{count / RENEW_EVERY_S:,.0f}", f"{count * one['bytes'] / 2**30:.2f} GiB",
             f"{count * three['bytes'] / 3 / 2**30:.2f} GiB", quorums_for(count, three)]
            for count in (100_000, 1_000_000, 10_000_000, 100_000_000)]
    head = ["leases", f"renewals per second, every {RENEW_EVERY_S} s", "memory of one node", "memory of each of three", "quorums"]
    return "\n\n".join([
        f"From the run of {one['date']}{' (quick)' if one['quick'] else ''}: renewals of {one['size']:,} leases by one client, 1,000 by one "
        f"message; acquire and release by {one['clients']} clients, each request by itself.",
        lines_of("One node", one, 1), lines_of("A quorum of three", three, 3), "**By the number of leases**",
        report.markdown_table(head, rows),
        "A renewal that is sent by itself is dearer than one of many, since the server is woken for it. By the figure for acquire and "
        f"release, two such requests take {one['cycle_us']:.1f} us of one node and {three['cycle_us']:.1f} us of three together."])

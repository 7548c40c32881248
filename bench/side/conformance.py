"""Which rules of docs/semantics.md hold for each participant, by what is seen in the same scenes (scenes.py), not by opinion."""

import concurrent.futures

import scenes
from harness import Trouble

HOLDS, FAILS, NOT_APPLICABLE, UNKNOWN = "holds", "does not", "does not apply", "not shown"
RULES = {"expiry": "strict expiry (T2)", "token": "token rises (G3)", "stale": "stale release and renewal are harmless (R2, Q9)",
         "restart": "no double grant over a restart (S1)", "stops": "the holder stops in time (T3)"}
TTL_MS = 4000  # the shortest session that ZooKeeper grants as it comes
RESTART_TTL_MS = 8000  # longer than any of them takes to start
LONGEST_TTL_S = 10  # of Holdfast's policy: so long it grants nothing after a crash
TOLERANCE_MS = 20  # a clock that counts whole milliseconds, and one that is being adjusted


def cell(verdict, seen, tries):
    return {"verdict": verdict, "seen": seen, "tries": tries}


def cell_of(faults, seen, tries):
    """faults: a sentence for each try that broke the rule."""
    if not tries:
        return cell(UNKNOWN, "no try showed anything", 0)
    return cell(FAILS, f"{faults[0]}; {len(faults)} of {tries}", tries) if faults else cell(HOLDS, seen, tries)


def milliseconds(nanoseconds):
    return nanoseconds / 1e6


def judge_expiry(slept):
    """The lease ends between `asked` + TTL and `answered` + TTL, whichever the server took."""
    faults, latest, shown = [], 0.0, 0
    for one in slept:
        ttl = 1e6 * one["ttl_ms"]
        earliest, last = one["lost"]["asked"] + ttl, one["lost"]["answered"] + ttl
        if one["looked_at"] >= earliest:
            continue  # nobody looked in time to see whether it ended early
        shown += 1
        first = min(each for each in (one["won"]["answered"], one["shown_other"]) if each is not None)
        honoured = max([each for each in (one["shown_old"], one["refused"]) if each is not None], default=last)
        late = milliseconds(honoured - last)
        latest = max(latest, late)
        if first < earliest:
            faults.append(f"ended {milliseconds(earliest - first):.0f} ms before its time")
        elif late > TOLERANCE_MS:
            faults.append((late, f"still honoured {late:.0f} ms after its end"))
        elif one["stale_renew"].get("renewed"):
            faults.append("a renewal after the end succeeded")
    early_first = [each for each in faults if isinstance(each, str)]
    by_lateness = [words for _, words in sorted((each for each in faults if not isinstance(each, str)), reverse=True)]
    return cell_of(early_first + by_lateness, f"never early, and honoured at most {max(0.0, latest):.0f} ms after its end", shown)


def judge_token(pairs):
    """pairs: [(what lay between, token before, token after)]"""
    if any(before is None or after is None for _, before, after in pairs):
        return cell(NOT_APPLICABLE, "grants carry no token", len(pairs))
    faults = [f"{before} was followed by {after} over a {what}" for what, before, after in pairs if not before < after]
    between = ", ".join(dict.fromkeys(what for what, _, _ in pairs))
    return cell_of(faults, f"rose over each: {between}", len(pairs))


def judge_stale(slept):
    shown = [one for one in slept if not one["too_late"]]
    faults = []
    for one in shown:
        if one["owner"]["holder"] != one["new"]:
            faults.append(f"after the stale release and renewal the owner was {one['owner']['holder'] or 'nobody'}")
        elif not one["kept"].get("renewed"):
            faults.append("the new holder could not renew afterwards")
        elif one["stale_renew"].get("renewed"):
            faults.append("the stale renewal was told that it succeeded")
    return cell_of(faults, "the new holder kept it", len(shown))


def judge_restart(restarted):
    faults, renewed, shown, refused = [], 0, 0, 0
    for one in restarted:
        ttl = 1e6 * one["ttl_ms"]
        end = one["lost"]["asked"] + ttl
        if one["asked_at"] is None or one["asked_at"] > end:
            continue  # nobody was there to be asked while it was still to be honoured
        shown += 1
        if one["renewed"] is not None:
            renewed += bool(one["renewed"]["renewed"])
            refused += not one["renewed"]["renewed"]
            if one["renewed"]["renewed"]:
                end = one["renewed"]["asked"] + ttl
        if one["won"] and one["won"]["answered"] < end:
            early = milliseconds(end - one["won"]["answered"])
            faults.append(f"granted to another {early:.0f} ms before the end of its holder's time")
    seen = "nobody else got it before its end"
    if renewed or refused:
        seen += "; the holder could renew it" if renewed else "; the holder was told that it is over"
    return cell_of(faults, seen, shown)


def judge_stops(slept):
    faults = ["the old holder still believed that it held it when another had it" for one in slept if one["believed"].get("held")]
    return cell_of(faults, "the first thing the old holder knew was that its time is over", len(slept))


def judge(seen):
    """seen: {"handed_over": […], "slept": […], "restarted": […]}"""
    pairs = [("release", *one["tokens"]) for one in seen["handed_over"]]
    pairs += [("expiry", one["lost"].get("token"), one["won"].get("token")) for one in seen["slept"]]
    pairs += [("restart", one["lost"].get("token"), one["won"].get("token")) for one in seen["restarted"] if one["won"]]
    return {"expiry": judge_expiry(seen["slept"]), "token": judge_token(pairs), "stale": judge_stale(seen["slept"]),
            "restart": judge_restart(seen["restarted"]), "stops": judge_stops(seen["slept"])}


def observe(participant, tries, ttl_ms=TTL_MS, restart_ttl_ms=RESTART_TTL_MS, restarts=2):
    """Plays all scenes. Several leases at once, since most of it is waiting."""
    seen = {"handed_over": [scenes.handed_over(participant, f"handed-{i}", ttl_ms) for i in range(tries)], "restarted": []}
    with concurrent.futures.ThreadPoolExecutor(tries) as pool:
        playing = [pool.submit(scenes.Slept(participant, f"slept-{i}", ttl_ms, waits=i % 2 == 1).play) for i in range(tries)]
        seen["slept"] = [each.result() for each in playing]
    for number in range(restarts):
        names = [f"restart-{number}-{i}" for i in range(tries)]
        seen["restarted"] += scenes.Restarted(participant, names, restart_ttl_ms, renews=number % 2 == 1).play()
    return seen


def conformance(participant, tries, **times):
    """{rule: cell}; what cannot be shown says why."""
    try:
        return judge(observe(participant, tries, **times))
    except Trouble as trouble:
        return {rule: cell(UNKNOWN, str(trouble), 0) for rule in RULES}

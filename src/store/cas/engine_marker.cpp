#include "store/cas/engine_marker.h"

#include <algorithm>
#include <memory>

#include "store/cas/engine_watch.h"

namespace holdfast::store::cas {

Place EngineMarker::seen() const {
    const Place& required = parts_.guard.required();
    if (required.marker.start != seen_.marker.start) return seen_;
    return {std::max(seen_.marker, required.marker), std::max(seen_.position, required.position)};
}

void EngineMarker::settle(Judges judges, Callback<Result<void>> done) {
    parts_.guard.close();
    seen_ = seen();
    parts_.engine.fetch(
        Kind::record, marker_name,
        [this, judges = std::move(judges), done = std::move(done)](const Result<Reading>& found) mutable {
            if (!found) return done(found.error());
            settle_on({found->value.write, found->position}, std::move(judges), std::move(done));
        });
}

/// Empty if no leases can have been lost that another front has not declared lost already.
std::string EngineMarker::why_doubted(const Place& there, const Judges& judges) const {
    const bool is_first = seen_.marker == WriteId{};
    if (!judges.why.empty()) return judges.why;
    if (there.marker == WriteId{} && is_first && parts_.new_store) return {};
    if (there.marker == WriteId{}) return is_first ? std::string(store_is_empty) : "the engine has lost what was in it";
    if (is_first) return {};
    if (there.marker.start != seen_.marker.start)
        return judges.is_over(seen_.marker.start) ? "" : "the engine is in another history than the one that was known";
    const bool went_back = there.marker.count < seen_.marker.count || there.position < seen_.position;
    return judges.was_met || went_back ? "the engine has gone back to an earlier state" : "";
}

void EngineMarker::settle_on(const Place& there, Judges judges, Callback<Result<void>> done) {
    const std::string why = why_doubted(there, judges);
    if (why.empty() && there.marker != WriteId{}) {
        const bool same = there.marker.start == seen_.marker.start;
        guard_by({there.marker, same ? seen_.position : 0});
        return done({});
    }
    auto make = [this, there, judges, done = std::move(done)](const Result<void>& declared) mutable {
        if (!declared) return done(declared.error());
        const WriteId becomes{parts_.random(), 1};
        write(there.marker, becomes,
              [this, becomes, judges = std::move(judges),
               done = std::move(done)](const Result<Swapped>& swapped) mutable {
                  if (!swapped) return done(swapped.error());
                  judges.why.clear();  // it is declared
                  judges.was_met = false;
                  if (!swapped->done) return settle(std::move(judges), std::move(done));  // another front was faster
                  guard_by({becomes, swapped->position});
                  done({});
              });
    };
    if (why.empty()) return make({});
    std::vector<std::uint64_t> over;
    for (const WriteId marker : {there.marker, seen_.marker})
        if (marker != WriteId{}) over.push_back(marker.start);
    judges.declare(why, over, std::move(make));
}

void EngineMarker::guard_by(const Place& place) {
    seen_ = place;
    parts_.guard.require(place);
}

void EngineMarker::raise() {
    const Place least = parts_.guard.required();
    const WriteId next{least.marker.start, least.marker.count + 1};
    write(least.marker, next, [this, least, next](const Result<Swapped>& swapped) {
        if (!swapped) return;
        const Place there{swapped->done ? next : swapped->found.write, swapped->position};
        parts_.guard.take(there, least, swapped->done ? GuardedEngine::Is::kept : GuardedEngine::Is::shown);
    });
}

void EngineMarker::write(WriteId expected, WriteId becomes, Callback<Result<Swapped>> done) {
    Swap swap;
    swap.name = marker_name;
    swap.expected = expected;
    swap.becomes = becomes;
    swap.bytes = "marker";
    parts_.engine.swap(swap,
                       [this, sent = parts_.now(), done = std::move(done)](const Result<Swapped>& swapped) mutable {
                           if (swapped) parts_.on_time(sent, swapped->now);
                           done(swapped);
                       });
}

}  // namespace holdfast::store::cas

#include "front/engine_marker.h"

#include <algorithm>
#include <memory>

#include "base/mutant.h"

namespace holdfast::core {
namespace {

std::string why_lost(WriteId found, WriteId seen) {
    if (found == WriteId{}) return "the engine has lost what was in it";
    if (found.start == seen.start) return "the engine has gone back to an earlier state";
    return "the engine is in another history than the one that was known";
}

}  // namespace

void EngineMarker::settle(Judges judges, Callback<Result<void>> done) {
    parts_.guard.close();
    if (parts_.guard.required().start == seen_.start) seen_ = std::max(seen_, parts_.guard.required());
    parts_.engine.fetch(
        Kind::record, marker_name,
        [this, judges = std::move(judges), done = std::move(done)](const Result<Reading>& found) mutable {
            if (!found) return done(found.error());
            settle_on(*found, std::move(judges), std::move(done));
        });
}

void EngineMarker::settle_on(const Reading& found, Judges judges, Callback<Result<void>> done) {
    const WriteId there = found.kept.write;
    const bool is_first = seen_ == WriteId{};
    const bool is_declared = there != WriteId{} && there.start != seen_.start && judges.is_known();
    if (there != WriteId{} && (is_first || stands(there, seen_) || is_declared)) {
        guard_by(there);
        return done({});
    }
    auto make = [this, there, judges, done = std::move(done)](const Result<void>& declared) mutable {
        if (!declared) return done(declared.error());
        WriteId becomes{parts_.random(), 1};
        if (mutant("doubt_not_shared") && seen_ != WriteId{}) becomes = {seen_.start, seen_.count + 1};
        write(there, becomes,
              [this, becomes, judges = std::move(judges),
               done = std::move(done)](const Result<Swapped>& swapped) mutable {
                  if (!swapped) return done(swapped.error());
                  if (!swapped->done) return settle(std::move(judges), std::move(done));  // somebody else was faster
                  guard_by(becomes);
                  done({});
              });
    };
    if (is_first) return make({});
    judges.declare(why_lost(there, seen_), std::move(make));
}

void EngineMarker::guard_by(WriteId marker) {
    seen_ = marker;
    parts_.guard.require(marker);
}

void EngineMarker::renew() {
    const WriteId expected = parts_.guard.required(), becomes{parts_.random(), 1};
    write(expected, becomes, [this, expected, becomes](const Result<Swapped>& swapped) {
        if (swapped && swapped->done && parts_.guard.required() == expected) guard_by(becomes);
    });
}

void EngineMarker::raise() {
    const WriteId expected = parts_.guard.required();
    write(expected, {expected.start, expected.count + 1}, [this, expected](const Result<Swapped>& swapped) {
        if (!swapped) return;
        const WriteId there = swapped->done ? WriteId{expected.start, expected.count + 1} : swapped->found.write;
        if (parts_.guard.take_marker(there, expected)) seen_ = std::max(seen_, there);
    });
}

void EngineMarker::write(WriteId expected, WriteId becomes, Callback<Result<Swapped>> done) {
    Swap swap;
    swap.name = marker_name;
    swap.expected = expected;
    swap.becomes = becomes;
    swap.bytes = "marker";
    parts_.engine.swap(swap, std::move(done));
}

}  // namespace holdfast::core

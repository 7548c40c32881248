#include "store/cas/document.h"

#include <fmt/format.h>
#include <memory>

namespace holdfast::store::cas {
namespace {

constexpr int max_tries = 100;  // each time another front was faster

}

struct Document::Change {
    Edit edit;
    Callback<Result<Reading>> done;
    int tries = 0;
};

void Document::change(Edit edit, Callback<Result<Reading>> done) {
    auto change = std::make_unique<Change>();
    change->edit = std::move(edit);
    change->done = std::move(done);
    fetch_for(std::move(change));
}

void Document::fetch_for(std::unique_ptr<Change> change) {
    read([this, change = std::move(change)](Result<Reading> found) mutable {
        if (!found) return change->done(found.error());
        try_on(std::move(change), std::move(*found));
    });
}

void Document::try_on(std::unique_ptr<Change> change, Reading found) {
    std::string bytes = change->edit(found);
    if (bytes.empty()) return change->done(std::move(found));
    if (++change->tries > max_tries)
        return change->done(
            Error{Code::store_unavailable, fmt::format("other fronts change {} all the time", parts_.name)});
    Swap swap;
    swap.kind = Kind::document;
    swap.name = parts_.name;
    swap.expected = found.value.write;
    swap.becomes = parts_.next_write();
    swap.written_at = found.now;
    swap.bytes = bytes;
    Reading written{{swap.becomes, swap.written_at, bytes}, found.now};
    parts_.engine.swap(
        swap, [this, change = std::move(change), written = std::move(written)](Result<Swapped> swapped) mutable {
            if (!swapped) return change->done(swapped.error());
            if (swapped->done) return change->done(std::move(written));
            fetch_for(std::move(change));
        });
}

}  // namespace holdfast::store::cas

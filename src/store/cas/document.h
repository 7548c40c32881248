#pragma once

#include <functional>
#include <memory>
#include <string>

#include "store/cas/engine.h"

namespace holdfast::core {

/// One document of an engine that several fronts change, each from what it is at the time: read, change, swap, and
/// again if another was faster. One change at a time.
class Document {
 public:
    struct Parts {
        Engine& engine;
        std::function<WriteId()> next_write;
        std::string name;
    };
    explicit Document(Parts parts) : parts_(std::move(parts)) {}

    /// What it was at some moment after the call; `write` is 0 if there is none.
    using Read = Callback<Result<Reading>>;
    void read(Read done) { parts_.engine.fetch(Kind::document, parts_.name, std::move(done)); }

    /// Makes of what is there what should be, or nothing to leave it. May be called again.
    using Edit = std::function<std::string(const Reading& now)>;
    /// As it is in the end, changed or left.
    void change(Edit edit, Callback<Result<Reading>> done);

 private:
    struct Change;
    void try_on(std::unique_ptr<Change> change, Reading found);
    void fetch_for(std::unique_ptr<Change> change);

    Parts parts_;
};

}  // namespace holdfast::core

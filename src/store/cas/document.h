#pragma once

#include <functional>
#include <memory>
#include <string>

#include "store/cas/engine.h"

namespace holdfast::store::cas {

/// One document of an engine that several fronts change by compare-and-swap: read, change, swap, and retry if another
/// front was faster. One change at a time.
class Document {
 public:
    struct Parts {
        Engine& engine;
        std::function<WriteId()> next_write;
        std::string name;
    };
    explicit Document(Parts parts) : parts_(std::move(parts)) {}

    /// Returns the document at some moment after the call; `write` is 0 if there is none.
    using Read = Callback<Result<Reading>>;
    void read(Read done) { parts_.engine.fetch(Kind::document, parts_.name, std::move(done)); }

    /// Returns the new contents, or an empty string to leave the document. May be called again.
    using Edit = std::function<std::string(const Reading& now)>;
    /// Answers with the final document, changed or not.
    void change(Edit edit, Callback<Result<Reading>> done);

 private:
    struct Change;
    void try_on(std::unique_ptr<Change> change, Reading found);
    void fetch_for(std::unique_ptr<Change> change);

    Parts parts_;
};

}  // namespace holdfast::store::cas

#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "store/store.h"

namespace holdfast::core {

/// Updates one record with two functions: `apply(Record&, Instant) -> Effect` and `done(Result<void>)`. They live until
/// the store has answered.
template <class Apply, class Done>
void update_record(Store& store, std::string_view resource, Apply apply, Done done) {
    class Both final : public Update {
     public:
        Both(Apply a, Done d) : apply_(std::move(a)), done_(std::move(d)) {}
        Effect apply(Record& record, Instant now) override { return apply_(record, now); }
        void done(Result<void> outcome) override {
            const std::unique_ptr<Both> self(this);
            done_(std::move(outcome));
        }

     private:
        Apply apply_;
        Done done_;
    };
    store.update(resource, *new Both(std::move(apply), std::move(done)));
}

}  // namespace holdfast::core

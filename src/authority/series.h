#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <utility>

#include "authority/pace.h"
#include "base/callback.h"

namespace holdfast::authority {

/// Asks for many things of one kind, in steps, and hands on the answers in the order of the questions. A question does
/// not wait for the answer to the one before, so that a remote store needs one round trip for many.
template <class One>
class Series : public std::enable_shared_from_this<Series<One>> {
 public:
    /// The place of one question. Its answer is given by one call, before `ask` returns or later.
    class Place {
     public:
        Place(std::shared_ptr<Series> series, std::size_t index) : series_(std::move(series)), index_(index) {}

        std::size_t index() const { return index_; }
        void operator()(One&& answer) const { series_->arrived(index_, std::move(answer)); }

     private:
        std::shared_ptr<Series> series_;
        std::size_t index_;
    };

    struct Parts {
        std::size_t count = 0;
        Callback<const Place&> ask;
        Callback<One&&> each;  ///< gets the answers, in order
        Callback<> end;        ///< runs once, after the last answer, unless the pace drops the series
        Pace pace;
        Callback<> before_step{}, after_step{};
    };
    static void run(Parts parts) { std::make_shared<Series>(std::move(parts))->go_on(); }

    explicit Series(Parts parts) : parts_(std::move(parts)) {}

 private:
    void go_on() {
        paced_ = true;
        parts_.pace([self = this->shared_from_this()](Allowance& allowance) { return self->step(allowance); });
    }

    bool step(Allowance& allowance) {
        if (parts_.before_step) parts_.before_step();
        while (!allowance.is_used_up() && (next_ != nullptr || asked_ < parts_.count))
            allowance.use(next_ != nullptr ? hand_on_next() : ask());
        paced_ = next_ != nullptr || asked_ < parts_.count;
        if (handed_on_ == parts_.count) parts_.end();
        if (parts_.after_step) parts_.after_step();
        return paced_;
    }

    /// Both return the units used.
    std::size_t ask() {
        const std::size_t handed_on = handed_on_;
        const Place place(this->shared_from_this(), asked_++);
        asking_ = true;
        parts_.ask(place);
        asking_ = false;
        return 1 + handed_on_ - handed_on;
    }
    std::size_t hand_on_next() {
        const std::unique_ptr<One> answer = std::move(next_);
        hand_on(std::move(*answer));
        return 1;
    }

    void hand_on(One&& answer) {
        ++handed_on_;
        if (!early_.empty() && early_.begin()->first == handed_on_) {
            next_ = std::move(early_.begin()->second);
            early_.erase(early_.begin());
        }
        parts_.each(std::move(answer));
    }

    void arrived(std::size_t index, One&& answer) {
        if (index != handed_on_) {
            early_.emplace(index, std::make_unique<One>(std::move(answer)));
        } else if (asking_) {
            hand_on(std::move(answer));
        } else {
            next_ = std::make_unique<One>(std::move(answer));
            if (!paced_) go_on();
        }
    }

    Parts parts_;
    std::size_t asked_ = 0, handed_on_ = 0;
    std::unique_ptr<One> next_;                          // the answer to be handed on next
    std::map<std::size_t, std::unique_ptr<One>> early_;  // answers that came before an earlier one
    bool asking_ = false;
    bool paced_ = false;  // a step is under way or will be called
};

}  // namespace holdfast::authority

#pragma once

#include <functional>
#include <memory>

#include "store/cas/engine.h"

namespace holdfast {

/// An engine whose answers come in turns of the server: the time is told before the first of those that come together,
/// and waiters whose turn they bring have it after the last.
class EngineInTurns final : public core::Engine, private core::EngineListener {
 public:
    struct Parts {
        std::unique_ptr<core::Engine> engine;
        std::function<void()> begin;            ///< before the first answer of a turn
        std::function<void()> end;              ///< after the last
        std::function<void(Callback<>)> later;  ///< runs it after whatever is to be done now
    };
    explicit EngineInTurns(Parts parts) : parts_(std::move(parts)) {}

    void fetch(core::Kind kind, std::string_view name, Callback<Result<core::Reading>> reply) override {
        parts_.engine->fetch(kind, name, in_turn(std::move(reply)));
    }
    void swap(const core::Swap& swap, Callback<Result<core::Swapped>> reply) override {
        parts_.engine->swap(swap, in_turn(std::move(reply)));
    }
    void overlapping(std::string_view resource, std::size_t most, Callback<Result<core::Sight>> reply) override {
        parts_.engine->overlapping(resource, most, in_turn(std::move(reply)));
    }
    void of_holder(std::string_view holder, std::size_t most, Callback<Result<core::Sight>> reply) override {
        parts_.engine->of_holder(holder, most, in_turn(std::move(reply)));
    }
    void scan(core::Kind kind, std::string_view prefix, std::string_view after, std::size_t most,
              Callback<Result<core::Page>> reply) override {
        parts_.engine->scan(kind, prefix, after, most, in_turn(std::move(reply)));
    }
    void overdue(std::size_t most, Callback<Result<std::vector<std::string>>> reply) override {
        parts_.engine->overdue(most, in_turn(std::move(reply)));
    }
    double rho() const override { return parts_.engine->rho(); }
    Duration swap_lingers() const override { return parts_.engine->swap_lingers(); }
    void start(core::EngineListener& listener) override {
        listener_ = &listener;
        parts_.engine->start(*this);
    }
    void stop() override { parts_.engine->stop(); }
    std::string status() const override { return parts_.engine->status(); }

 private:
    void on_reachable(const core::EngineHello& hello) override {
        begin();
        listener_->on_reachable(hello);
    }
    void on_unreachable(const Error& why) override {
        begin();
        listener_->on_unreachable(why);
    }
    void on_notice(std::string_view notice) override {
        begin();
        listener_->on_notice(notice);
    }

    template <class Answer>
    Callback<Answer> in_turn(Callback<Answer> reply) {
        return [this, reply = std::move(reply)](Answer answer) mutable {
            begin();
            reply(std::move(answer));
        };
    }

    void begin() {
        if (begun_) return;
        begun_ = true;
        parts_.begin();
        parts_.later([this] {
            begun_ = false;
            parts_.end();
        });
    }

    Parts parts_;
    core::EngineListener* listener_ = nullptr;
    bool begun_ = false;
};

}  // namespace holdfast

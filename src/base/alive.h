#pragma once

#include <memory>
#include <utility>

namespace holdfast::inline base {

/// Guards callbacks that may run after their owner is gone: such a callback then does nothing. For owners and callbacks
/// of one thread.
///
///     disk_.write(bytes, alive_.guard([this](Result<void> outcome) { written(outcome); }));
///
/// Declare it as the owner's last member, so that no callback runs into members that are already destroyed.
class Alive {
 public:
    Alive() = default;
    Alive(const Alive&) = delete;
    Alive& operator=(const Alive&) = delete;

    template <class Function>
    auto guard(Function function) const {
        return [watch = std::weak_ptr(token_), function = std::move(function)](auto&&... arguments) mutable {
            if (!watch.expired()) function(std::forward<decltype(arguments)>(arguments)...);
        };
    }

    /// From now on no guarded callback does anything.
    void end() { token_.reset(); }

 private:
    std::shared_ptr<int> token_ = std::make_shared<int>();
};

}  // namespace holdfast::inline base

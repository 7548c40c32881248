#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace holdfast {

/// Which life of an agent a client speaks for, if for one. Set by one thread, read by all.
class Epoch {
 public:
    explicit Epoch(std::optional<std::uint64_t> epoch = {}) : number_(epoch.value_or(none)) {}

    void set(std::uint64_t epoch) { number_.store(epoch); }
    std::optional<std::uint64_t> get() const {
        const std::uint64_t number = number_.load();
        return number == none ? std::nullopt : std::optional(number);
    }

 private:
    static constexpr std::uint64_t none = UINT64_MAX;
    std::atomic<std::uint64_t> number_;
};

}  // namespace holdfast

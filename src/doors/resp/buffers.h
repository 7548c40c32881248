#pragma once

#include <string>
#include <vector>

namespace holdfast::doors::resp {

/// Buffers shared by connections. A connection with no pending bytes returns its buffer, so that idle connections cost
/// almost nothing and busy ones do not allocate.
class Buffers {
 public:
    static constexpr std::size_t bytes = 32 * 1024;       ///< size of an input buffer, least capacity of an output one
    static constexpr std::size_t bytes_kept = 4 * bytes;  ///< a larger one is freed

    Buffers() {
        inputs_.reserve(max_spare);
        outputs_.reserve(max_spare);
    }

    /// `bytes` long, with arbitrary content.
    std::string take_input() { return inputs_.empty() ? std::string(bytes, '\0') : take_last(inputs_); }
    /// Empty, with capacity reserved.
    std::string take_output() {
        if (!outputs_.empty()) return take_last(outputs_);
        std::string fresh;
        fresh.reserve(bytes);
        return fresh;
    }

    /// Both leave `buffer` empty, without capacity.
    void give_back_input(std::string& buffer) {
        std::string given;
        given.swap(buffer);
        if (given.size() == bytes && inputs_.size() < max_spare) inputs_.push_back(std::move(given));
    }
    void give_back_output(std::string& buffer) {
        std::string given;
        given.swap(buffer);
        if (given.capacity() < bytes || given.capacity() > bytes_kept || outputs_.size() == max_spare) return;
        given.clear();
        outputs_.push_back(std::move(given));
    }

 private:
    static constexpr std::size_t max_spare = 128;

    static std::string take_last(std::vector<std::string>& spare) {
        std::string buffer = std::move(spare.back());
        spare.pop_back();
        return buffer;
    }

    std::vector<std::string> inputs_, outputs_;
};

}  // namespace holdfast::doors::resp

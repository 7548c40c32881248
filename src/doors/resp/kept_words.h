#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::doors::resp {

/// A copy of the words of a command, for a handler that needs them after it has returned.
class KeptWords {
 public:
    explicit KeptWords(std::span<const std::string_view> words) {
        std::size_t bytes = 0;
        for (const std::string_view word : words)
            bytes += word.size();
        text_.reserve(bytes);  // so that the views stay valid
        words_.reserve(words.size());
        for (const std::string_view word : words) {
            words_.push_back({text_.data() + text_.size(), word.size()});
            text_ += word;
        }
    }
    KeptWords(const KeptWords&) = delete;
    KeptWords& operator=(const KeptWords&) = delete;

    std::span<const std::string_view> words() const { return words_; }

 private:
    std::string text_;
    std::vector<std::string_view> words_;
};

}  // namespace holdfast::doors::resp

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doors/resp/exchange.h"
#include "store/store.h"

namespace holdfast::doors::resp {

/// Commands that were read together and will be handled in order. Reused, so that it does not allocate once warm.
class CommandBatch {
 public:
    static constexpr std::size_t max_commands = 32;

    void clear();
    /// Copies the views, not the text they refer to. `command` is nullptr for an unknown command.
    void add(const RespCommand* command, std::span<const std::string_view> words);

    std::size_t size() const { return entries_.size(); }
    bool is_full() const { return size() == max_commands; }
    const RespCommand* command(std::size_t i) const { return entries_[i].command; }
    std::span<const std::string_view> words(std::size_t i) const {
        return std::span(words_).subspan(entries_[i].first, entries_[i].count);
    }

    /// The resources and holders that the commands name, where they can be read off directly. `key_prefix` is put
    /// before a Redis key. Valid until the batch changes.
    std::span<const store::Expected> expected(std::string_view key_prefix);

 private:
    struct Entry {
        const RespCommand* command;
        std::size_t first, count;
    };
    std::vector<Entry> entries_;
    std::vector<std::string_view> words_;
    std::vector<store::Expected> expected_;
    std::string names_;
};

}  // namespace holdfast::doors::resp

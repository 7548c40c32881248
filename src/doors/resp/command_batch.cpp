#include "doors/resp/command_batch.h"

namespace holdfast::doors::resp {
namespace {

constexpr std::size_t max_key_bytes = 256;  // longer keys are not prefetched
constexpr std::size_t max_words_kept = 1024;

}  // namespace

void CommandBatch::clear() {
    entries_.clear();
    words_.clear();
    if (words_.capacity() > max_words_kept) words_ = {};
}

void CommandBatch::add(const RespCommand* command, std::span<const std::string_view> words) {
    entries_.push_back({command, words_.size(), words.size()});
    words_.insert(words_.end(), words.begin(), words.end());
}

std::span<const store::Expected> CommandBatch::expected(std::string_view key_prefix) {
    expected_.clear();
    names_.clear();
    names_.reserve(max_commands * (key_prefix.size() + max_key_bytes));  // so that views into it stay valid
    for (std::size_t i = 0; i < size(); ++i) {
        if (command(i) == nullptr) continue;
        const Foresight& foresight = command(i)->foresight;
        const auto said = words(i);
        if (foresight.resource == 0 || foresight.resource >= said.size()) continue;
        std::string_view resource = said[foresight.resource];
        if (resource.size() > max_key_bytes) continue;
        if (foresight.is_key) {
            const std::size_t begin = names_.size();
            names_ += key_prefix;
            names_ += resource;
            resource = std::string_view(names_).substr(begin);
        }
        const bool has_holder =
            foresight.holder != 0 && foresight.holder < said.size() && said.size() <= foresight.max_holder_words;
        expected_.push_back({resource, has_holder ? said[foresight.holder] : std::string_view{}});
    }
    return expected_;
}

}  // namespace holdfast::doors::resp

#include "client/agent/digest.h"

#include <array>
#include <boost/json.hpp>
#include <charconv>

#include "base/hash.h"
#include "base/text.h"
#include "client/json_reader.h"

namespace holdfast {

namespace {

namespace json = boost::json;

constexpr std::string_view format = "holdfast-agent ";
constexpr std::uint64_t version = 1;

Error damaged(std::string_view how) {
    return {"digest_damaged", "the agent's digest " + std::string(how) + "; move it away to begin without it"};
}

/// Against torn writes and flipped bits, not against forgery.
std::string checksum(std::string_view text) {
    std::array<char, 16> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), hash_text({}, text), 16).ptr;
    return {digits.data(), end};
}

json::array intents_of(const std::vector<Intent>& intents) {
    json::array list;
    for (const auto& [resource, predicate] : intents)
        list.push_back(json::object{{"resource", resource}, {"predicate", predicate.text()}});
    return list;
}

Result<Digest> read_body(std::string_view body) {
    JsonReader reader{body};
    const auto& fields = reader.object(reader.document());
    Digest digest{.id = reader.text(fields, "id"), .session = reader.text(fields, "session")};
    digest.epoch = static_cast<std::uint64_t>(reader.number(fields, "epoch"));
    if (fields.contains("priority")) digest.priority = reader.any_number(fields, "priority");
    digest.checkpoint = reader.text(fields, "checkpoint");
    for (const auto& entry : reader.array(fields, "pending")) {
        const auto& intent = reader.object(entry);
        digest.pending.push_back({reader.text(intent, "resource"), reader.text(intent, "predicate")});
    }
    if (!reader.ok() || digest.id.empty() || digest.epoch == 0) return damaged("lacks something");
    return digest;
}

}  // namespace

Result<void> check_checkpoint(std::string_view checkpoint) {
    if (checkpoint.size() > checkpoint_bytes_max)
        return Error{"invalid_argument", "a checkpoint has 64 KiB at most: keep the rest in a file and its name here"};
    if (!is_utf8(checkpoint)) return Error{"invalid_argument", "a checkpoint is UTF-8 text"};
    return {};
}

std::string to_text(const Digest& digest) {
    json::object fields{{"id", digest.id},
                        {"session", digest.session},
                        {"epoch", digest.epoch},
                        {"checkpoint", digest.checkpoint},
                        {"pending", intents_of(digest.pending)}};
    if (digest.priority) fields["priority"] = *digest.priority;
    const std::string body = json::serialize(fields) + "\n";
    return std::string(format) + std::to_string(version) + " " + checksum(body) + "\n" + body;
}

Result<Digest> parse_digest(std::string_view text) {
    if (!text.starts_with(format)) return damaged("is not one");
    text.remove_prefix(format.size());
    const auto line_end = text.find('\n');
    const auto blank = text.find(' ');
    if (line_end == std::string_view::npos || blank >= line_end) return damaged("is not whole");
    const auto found = parse_number(text.substr(0, blank));
    if (!found) return damaged("is not one");
    if (*found != version)
        return Error{"digest_version", "the agent's digest is of version " + std::to_string(*found) +
                                           ", and this program knows only version " + std::to_string(version)};
    const std::string_view body = text.substr(line_end + 1);
    if (text.substr(blank + 1, line_end - blank - 1) != checksum(body)) return damaged("is not whole");
    return read_body(body);
}

}  // namespace holdfast

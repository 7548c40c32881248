#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "store/redis/nodes.h"
#include "wire/resp_command.h"

namespace holdfast::redis_engine {
namespace {

constexpr std::uint8_t redirections_most = 5;

/// Who says this is no master, or none that works: somebody else is, or will be.
constexpr std::array<std::string_view, 4> gone{"READONLY", "LOADING", "MASTERDOWN", "CLUSTERDOWN"};

std::string_view word(std::string_view text, std::size_t index) {
    for (; index > 0; --index)
        text.remove_prefix(std::min(text.find(' ') + 1, text.size()));
    return text.substr(0, text.find(' '));
}

std::uint16_t slot_in(std::string_view error) {
    return static_cast<std::uint16_t>(parse_number(word(error, 1)).value_or(0) % slot_count);
}

}  // namespace

void Nodes::refused(const NodePointer& node, Link::Refused refused) {
    const std::string error = std::move(refused.error);
    const auto code = word(error, 0);
    const bool once_more = state_ == State::up && refused.command.redirections < redirections_most;
    ++refused.command.redirections;
    if (once_more && code == "NOSCRIPT" && refused.command.script != Script::none) {
        const std::string bytes = with_text(refused.sent, std::exchange(refused.command.script, Script::none));
        return resend(*node, std::move(refused.command), bytes);
    }
    if (once_more && in_cluster_ && code == "MOVED") {
        refused.error = error;
        return moved(node, std::move(refused), word(error, 2));
    }
    if (once_more && in_cluster_ && code == "ASK") return ask(node, std::move(refused), word(error, 2));
    const std::string key = key_of(refused.sent);
    const Error why = unavailable(node->link->address().shown() + " refuses" +
                                  (key.empty() ? "" : " the key " + quoted(key)) + ": " + quoted(error));
    const bool is_gone = std::ranges::find(gone, code) != gone.end();
    refused.command.reply(why);
    if (is_gone && node->is_ready) down(why);
}

Nodes::NodePointer Nodes::find(const Place& place) const {
    for (const auto* nodes : {&masters_, &others_})
        for (const NodePointer& node : *nodes)
            if (node->place == place) return node;
    return nullptr;
}

void Nodes::resend(Node& node, Link::Command command, std::string_view bytes) {
    if (node.link->is_full(bytes.size())) return command.reply(unavailable("too much is under way already"));
    node.link->begin(Link::Lane::then) += bytes;
    node.link->end(Link::Lane::then, std::move(command));
}

/// The slot belongs to another node now, and other slots may as well.
void Nodes::moved(const NodePointer& node, Link::Refused refused, std::string_view where) {
    const auto place = read_place(where, node->place.host);
    if (!place) return refused.command.reply(place.error());
    const std::uint16_t slot = slot_in(refused.error);
    const auto master = std::ranges::find(map_.masters, *place, &Master::place);
    if (master != map_.masters.end()) {
        const auto index = master - map_.masters.begin();
        map_.of_slot[slot] = static_cast<std::uint16_t>(index);
        resend(*masters_[static_cast<std::size_t>(index)], std::move(refused.command), refused.sent);
    } else if (parked_.size() < options_.calls_most) {
        parked_.push_back({std::move(refused.command), std::string(refused.sent), slot});
    } else {
        refused.command.reply(unavailable("too much is under way already"));
    }
    refresh(node);
}

/// This key is on the way to another node, or there already; the slot is not.
void Nodes::ask(const NodePointer& node, Link::Refused refused, std::string_view where) {
    const auto place = read_place(where, node->place.host);
    if (!place) return refused.command.reply(place.error());
    NodePointer target = find(*place);
    if (!target) target = greet(*place, [](const NodePointer&) {});
    auto parked = std::make_shared<Parked>(Parked{std::move(refused.command), std::string(refused.sent), 0});
    const auto go = [this, target, parked] {
        if (!target->is_ready) return parked->command.reply(why_down_);
        std::string asking;
        resp::write_command(asking, {"ASKING"});
        target->link->send(asking, [](const Result<resp::Value>&) {});
        resend(*target, std::move(parked->command), parked->bytes);
    };
    if (target->is_ready)
        go();
    else
        target->when_ready.emplace_back(go);
}

void Nodes::refresh(const NodePointer& asked) {
    if (std::exchange(refreshing_, true)) return;
    std::string command;
    resp::write_command(command, {"CLUSTER", "SLOTS"});
    asked->link->send(command,
                      [this, weak = weak_from_this(), asked, attempt = attempt_](const Result<resp::Value>& answer) {
                          const auto kept = weak.lock();
                          if (kept && answer && attempt == attempt_) refreshed(asked, answer);
                      });
}

void Nodes::refreshed(const NodePointer& asked, const Result<resp::Value>& answer) {
    refreshing_ = false;
    auto map = read_slots(*answer, asked->place.host);
    if (!map) return down(map.error());
    if (!std::ranges::equal(map->masters, map_.masters, {}, &Master::id, &Master::id))
        return down(unavailable("other masters have joined the Redis cluster or left it"));
    set_map(std::move(*map));
    for (Parked& one : std::exchange(parked_, {})) {
        const auto index = map_.of_slot[one.slot];
        if (index == SlotMap::nobody)
            one.command.reply(unavailable("no node of the Redis cluster has the slot of the key"));
        else
            resend(*masters_[index], std::move(one.command), one.bytes);
    }
}

}  // namespace holdfast::redis_engine

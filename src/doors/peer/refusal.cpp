#include "doors/peer/refusal.h"

#include <array>

namespace holdfast::peer {
namespace {

struct Texts {
    std::string_view code, advice;
};

constexpr std::array<Texts, 9> texts{{
    {"wrong_secret", "the two have different cluster secrets; give every member the same"},
    {"other_version", "the two speak different versions of the peer protocol; bring every member to one version"},
    {"other_members", "the two were started with different members; give every member the same --peers"},
    {"other_longest_ttl", "the two allow different longest TTLs; give every member the same"},
    {"other_rho", "the two assume different clock errors (rho); give every member the same"},
    {"unexpected_node", "another member answers at this address than the one --peers gives it to"},
    {"old_boot",
     "a later start of the refused member is known, so it runs on an earlier copy of its state directory, or beside "
     "another process with its id; stop it and give it the directory that it ran with last (docs/cluster.md)"},
    {"other_directory",
     "a member's state directory is not the one with which it belongs to this cluster, so what it agreed to is lost; "
     "give it back the one it had, or see docs/cluster.md for what to do without"},
    {"old_directory",
     "the member that refuses has found that it runs on an earlier copy of its own state directory: the other knows a "
     "start of it that is not in there; stop it and give it the directory that it ran with last (docs/cluster.md)"},
}};

}  // namespace

std::string_view to_string(Refusal refusal) {
    return texts[static_cast<std::size_t>(refusal) - 1].code;
}

std::string_view advice(Refusal refusal) {
    return texts[static_cast<std::size_t>(refusal) - 1].advice;
}

bool needs_repair(Refusal refusal) {
    return refusal == Refusal::old_boot || refusal == Refusal::other_directory || refusal == Refusal::old_directory;
}

std::optional<Refusal> refusal_of(std::uint32_t number) {
    if (number == 0 || number > texts.size()) return std::nullopt;
    return static_cast<Refusal>(number);
}

}  // namespace holdfast::peer

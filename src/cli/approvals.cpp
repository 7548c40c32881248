#include "base/text.h"
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"

namespace holdfast {
namespace {

namespace json = boost::json;

std::string approval_target(const std::string& identity) {
    return "/v1/approvals/" + percent_encode(identity);
}

}  // namespace

int approve_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const std::string& identity = arguments.ban.holder;
    const auto answer = api.send("PUT", approval_target(identity), json::object{});
    const bool is_new = answer && flag_of(answer->body, "changed");
    return show_done(screen, answer, identity + (is_new ? " approved" : " was approved already"));
}

int deny_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const std::string& identity = arguments.ban.holder;
    return show_done(screen, api.remove(approval_target(identity)), identity + " denied");
}

int approvals_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const auto answer = api.get_all("/v1/approvals?limit=1000", "approved");
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    if (screen.json()) {
        screen.show(answer->body);
        return exit_ok;
    }
    const json::array& waiting = array_of(answer->body, "waiting");
    const json::array& approved = array_of(answer->body, "approved");
    if (text_of(answer->body, "approval") != "manual")
        screen.note("whoever is not banned may advertise; 'holdfast policy set --approval manual' asks for approval");
    Table table{{"IDENTITY", "STATE", "LAST SEEN", "NAME", "ADDRESS"}};
    for (const json::value& one : waiting)
        table.add({{text_of(one, "identity"), Colour::bold},
                   {"waiting", Colour::yellow},
                   {text_of(one, "last_seen")},
                   {text_of(one, "name")},
                   {text_of(one, "address")}});
    for (const json::value& one : approved)
        if (one.is_string())
            table.add({{one.as_string().c_str(), Colour::bold}, {"approved", Colour::green}, {}, {}, {}});
    if (waiting.empty() && approved.empty())
        screen.note("nobody waits for approval, and nobody is approved");
    else
        screen.show(table);
    return exit_ok;
}

}  // namespace holdfast

#include <cstdio>
#include <exception>
#include <map>
#include <string>

#include "base/printable.h"
#include "cli/app.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "supervise/guardian.h"

namespace {

using namespace holdfast::cli;

int dispatch(const Arguments& arguments) {
    static const std::map<std::string, int (*)(const Arguments&)> commands{
        {"serve", serve_command},
        {"run", run_command},
        {"acquire", acquire_command},
        {"renew", renew_command},
        {"release", release_command},
        {"verify", verify_command},
        {"list", list_command},
        {"watch", watch_command},
        {"policy", policy_get_command},
        {"policy get", policy_get_command},
        {"policy set", policy_set_command},
        {"ban", ban_command},
        {"unban", unban_command},
        {"bans", bans_command},
        {"approve", approve_command},
        {"deny", deny_command},
        {"approvals", approvals_command},
        {"service", service_rules_command},
        {"service rules", service_rules_command},
        {"service deny", service_deny_command},
        {"service reserve", service_reserve_command},
        {"service allow", service_allow_command},
        {"audit", audit_command},
        {"revoke", revoke_command},
        {"bar", bar_command},
        {"health", health_command},
        {"agent", agent_list_command},
        {"agent register", agent_register_command},
        {"agent show", agent_show_command},
        {"agent list", agent_list_command},
        {"agent restarting", agent_restarting_command},
        {"agent forget", agent_forget_command},
        {"mcp", mcp::mcp_command},
        {"guard", guard::guard_command},
        {"guard check", guard::guard_command},
        {"guard install", guard::guard_install_command},
        {"guard uninstall", guard::guard_uninstall_command},
        {"own", own_command},
        {"nodes", nodes_command},
        {"drone", drone_command},
        {"drone list", drone_list_command},
        {"drone drain", drone_drain_command},
        {"backend", backend_list_command},
        {"backend connect", backend_connect_command},
        {"backend list", backend_list_command},
        {"backend show", backend_show_command},
        {"backend status", backend_status_command},
        {"backend terminate", backend_terminate_command},
        {"key", key_list_command},
        {"key list", key_list_command},
        {"key bar", key_bar_command},
        {"identity", identity_show_command},
        {"identity new", identity_new_command},
        {"identity show", identity_show_command},
        {"advertise", advertise_command},
        {"connect", connect_command},
        {"discover", discover_command},
        {"elect", elect_command},
        {"quorum", quorum_status_command},
        {"quorum status", quorum_status_command},
        {"store", store_status_command},
        {"store status", store_status_command},
        {"completion", completion_command},
        {"version", version_command},
    };
    return commands.at(arguments.command)(arguments);
}

int guarded_main(const std::vector<std::string>& arguments) {
    if (!arguments.empty() && arguments[0] == holdfast::supervise::guardian_command)
        return holdfast::supervise::guardian_main({arguments.begin() + 1, arguments.end()});
    const Parsed parsed = parse_command_line(arguments);
    return parsed.exit ? *parsed.exit : dispatch(parsed.arguments);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return guarded_main({argv + 1, argv + argc});
    } catch (const std::exception& unexpected) {
        std::fprintf(stderr, "holdfast: internal error: %s\n", holdfast::printable(unexpected.what()).c_str());
        return exit_failed;
    }
}

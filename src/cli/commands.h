#pragma once

#include "cli/options.h"

namespace holdfast::cli {

/// The commands. Each does what its name says, prints the outcome and returns the exit code.

int serve_command(const Arguments& arguments);
int run_command(const Arguments& arguments);

int acquire_command(const Arguments& arguments);
int renew_command(const Arguments& arguments);
int release_command(const Arguments& arguments);
int verify_command(const Arguments& arguments);

int list_command(const Arguments& arguments);
int health_command(const Arguments& arguments);
int watch_command(const Arguments& arguments);

int policy_get_command(const Arguments& arguments);
int policy_set_command(const Arguments& arguments);
int ban_command(const Arguments& arguments);
int unban_command(const Arguments& arguments);
int bans_command(const Arguments& arguments);
int approve_command(const Arguments& arguments);
int deny_command(const Arguments& arguments);
int approvals_command(const Arguments& arguments);
int service_rules_command(const Arguments& arguments);
int service_deny_command(const Arguments& arguments);
int service_reserve_command(const Arguments& arguments);
int service_allow_command(const Arguments& arguments);
int audit_command(const Arguments& arguments);
int revoke_command(const Arguments& arguments);
int bar_command(const Arguments& arguments);

int agent_register_command(const Arguments& arguments);
int agent_show_command(const Arguments& arguments);
int agent_list_command(const Arguments& arguments);
int agent_restarting_command(const Arguments& arguments);
int agent_forget_command(const Arguments& arguments);

int own_command(const Arguments& arguments);
int nodes_command(const Arguments& arguments);

int drone_command(const Arguments& arguments);
int drone_list_command(const Arguments& arguments);
int drone_drain_command(const Arguments& arguments);

int backend_connect_command(const Arguments& arguments);
int backend_list_command(const Arguments& arguments);
int backend_show_command(const Arguments& arguments);
int backend_status_command(const Arguments& arguments);
int backend_terminate_command(const Arguments& arguments);
int key_list_command(const Arguments& arguments);
int key_bar_command(const Arguments& arguments);

int identity_new_command(const Arguments& arguments);
int identity_show_command(const Arguments& arguments);
int advertise_command(const Arguments& arguments);
int connect_command(const Arguments& arguments);
int discover_command(const Arguments& arguments);

int elect_command(const Arguments& arguments);
int quorum_status_command(const Arguments& arguments);
int store_status_command(const Arguments& arguments);

int completion_command(const Arguments& arguments);
int version_command(const Arguments& arguments);

}  // namespace holdfast::cli

namespace holdfast::cli::mcp {
int mcp_command(const Arguments& arguments);
}

namespace holdfast::cli::guard {
int guard_command(const Arguments& arguments);
int guard_install_command(const Arguments& arguments);
int guard_uninstall_command(const Arguments& arguments);
}  // namespace holdfast::cli::guard

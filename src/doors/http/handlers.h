#pragma once

#include <string>

#include "doors/http/reply.h"
#include "doors/http/request.h"

namespace holdfast::doors::http {

/// One handler per route: decode, call the authority, encode. A handler replies exactly once, before it returns or
/// later. It keeps no reference to the request.

void handle_acquire(Services&, const Request&, const std::string&, Reply);
void handle_list(Services&, const Request&, const std::string&, Reply);
void handle_get(Services&, const Request&, const std::string& id, Reply);
void handle_release(Services&, const Request&, const std::string& id, Reply);
void handle_renew(Services&, const Request&, const std::string& id, Reply);
void handle_renew_many(Services&, const Request&, const std::string&, Reply);
void handle_verify(Services&, const Request&, const std::string&, Reply);

void handle_list_agents(Services&, const Request&, const std::string&, Reply);
void handle_get_agent(Services&, const Request&, const std::string& id, Reply);
void handle_put_agent(Services&, const Request&, const std::string& id, Reply);
void handle_forget_agent(Services&, const Request&, const std::string& id, Reply);
void handle_declare_restart(Services&, const Request&, const std::string& id, Reply);

void handle_get_leader(Services&, const Request&, const std::string& group, Reply);
void handle_quorum(Services&, const Request&, const std::string&, Reply);
void handle_store(Services&, const Request&, const std::string&, Reply);

void handle_connect(Services&, const Request&, const std::string&, Reply);
void handle_list_keys(Services&, const Request&, const std::string&, Reply);
void handle_bar_key(Services&, const Request&, const std::string& key, Reply);
void handle_list_backends(Services&, const Request&, const std::string&, Reply);
void handle_get_backend(Services&, const Request&, const std::string& id, Reply);
void handle_backend_status(Services&, const Request&, const std::string& id, Reply);
void handle_terminate_backend(Services&, const Request&, const std::string& id, Reply);
void handle_list_drones(Services&, const Request&, const std::string&, Reply);
void handle_get_drone(Services&, const Request&, const std::string& id, Reply);
void handle_forget_drone(Services&, const Request&, const std::string& id, Reply);
void handle_drain_drone(Services&, const Request&, const std::string& id, Reply);
void handle_drone_heartbeat(Services&, const Request&, const std::string& id, Reply);
void handle_drone_orders(Services&, const Request&, const std::string& id, Reply);

void handle_update_service(Services&, const Request&, const std::string&, Reply);
void handle_list_services(Services&, const Request&, const std::string&, Reply);
void handle_get_service(Services&, const Request&, const std::string& name, Reply);
void handle_service_events(Services&, const Request&, const std::string&, Reply);
void handle_relay(Services&, const Request&, const std::string&, Reply);
void handle_list_approvals(Services&, const Request&, const std::string&, Reply);
void handle_approve(Services&, const Request&, const std::string& identity, Reply);
void handle_deny(Services&, const Request&, const std::string& identity, Reply);
void handle_list_service_rules(Services&, const Request&, const std::string&, Reply);
void handle_put_service_rule(Services&, const Request&, const std::string& name, Reply);
void handle_lift_service_rules(Services&, const Request&, const std::string& name, Reply);

void handle_bar(Services&, const Request&, const std::string& id, Reply);
void handle_revoke(Services&, const Request&, const std::string& id, Reply);
void handle_get_policy(Services&, const Request&, const std::string&, Reply);
void handle_change_policy(Services&, const Request&, const std::string&, Reply);
void handle_list_bans(Services&, const Request&, const std::string&, Reply);
void handle_get_ban(Services&, const Request&, const std::string& holder, Reply);
void handle_ban(Services&, const Request&, const std::string& holder, Reply);
void handle_unban(Services&, const Request&, const std::string& holder, Reply);
void handle_audit(Services&, const Request&, const std::string&, Reply);

void handle_events(Services&, const Request&, const std::string&, Reply);
void handle_health(Services&, const Request&, const std::string&, Reply);
void handle_ready(Services&, const Request&, const std::string&, Reply);
void handle_metrics(Services&, const Request&, const std::string&, Reply);
void handle_openapi(Services&, const Request&, const std::string&, Reply);

}  // namespace holdfast::doors::http

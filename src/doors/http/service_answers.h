#pragma once

#include <string>

#include "discovery/directory/directory.h"
#include "doors/http/response.h"

namespace holdfast::http {

/// Answers of the directory as docs/discovery.md writes them.

/// 201 for a registration. A refusal also carries the relay's life and clock, so that it can be signed anew.
Response answer_update(const discovery::UpdateResponse& told, discovery::Action action);
Response answer_service(const core::ServiceEntry& entry);
Response answer_services(const core::ServicePage& page);
struct RelayView {
    std::uint64_t relay = 0;
    std::int64_t time_ms = 0;
    std::string address;  ///< empty: this server has no relay
};
Response answer_relay(const RelayView& view);

/// `event: NAME`, with the entry as its data.
std::string service_event(std::string_view event, const core::ServiceEntry& entry);
std::string listed_event();

Response answer_approvals(const core::Policy& policy, const std::vector<core::Directory::Waiting>& waiting,
                          const std::string& after, std::size_t limit);
Response answer_approve(const std::string& identity, bool is_new);

Response answer_name_rules(const core::Policy& policy, const core::NameRuleKey& after, std::size_t limit);
Response answer_name_rule(const core::NameRuleKey& about, const core::NameRule& rule);
Response answer_lifted_name_rules(const core::NameRuleKey& about, std::size_t lifted);

}  // namespace holdfast::http

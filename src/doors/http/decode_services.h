#pragma once

#include <string>

#include "base/result.h"
#include "discovery/directory/directory.h"
#include "doors/http/request.h"

namespace holdfast::http {

/// Requests of docs/discovery.md; as decode.h.

/// A signed update: what the body says, and who signed the body.
struct DecodedUpdate {
    discovery::Update update;
    std::string public_key;
    std::string signature;
};
/// Also `bad_signature`, if the header is not there or not well-formed.
Result<DecodedUpdate> decode_service_update(const Request& request);

Result<core::ServiceQuery> decode_service_query(const Request& request);
/// Of a stream of changes: the glob. Empty: all.
Result<std::string> decode_service_glob(const Request& request);

/// The identity that the path names; also `invalid_identity`.
Result<void> decode_identity_only(const Request& request, const std::string& identity);

/// A rule about the name of a service that the path names, in the name's one form; also `invalid_name`,
/// `invalid_identity`.
struct DecodedNameRule {
    core::NameRuleKey about;
    core::NameRule rule;
};
Result<DecodedNameRule> decode_name_rule(const Request& request, const std::string& name);
/// Which rules are to be lifted: `?identity=ID`, or all about the name.
Result<core::NameRuleKey> decode_lifted_name_rules(const Request& request, const std::string& name);
/// A page of rules, after the one of which `next` told.
struct DecodedRulesPage {
    core::NameRuleKey after;
    std::size_t limit = 0;
};
Result<DecodedRulesPage> decode_name_rules_page(const Request& request);

}  // namespace holdfast::http

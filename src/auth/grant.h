#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "auth/verb.h"
#include "base/result.h"
#include "lease/resource.h"

namespace holdfast::auth {

/// Verbs × namespace × prefix of the resource × holders (A2). What it does not name it does not grant.
///
/// *Namespace*: `*` is all of them, `team-*` those whose names begin so, any other text the one of this name; the
/// default namespace is named `default`. A key is in its own namespace, under the name `KEY:…`. All services are in the
/// namespace
/// `~services`, under their own names. A Redis database is `redis` or `redis-N`.
///
/// *Prefix*: of the resource's name in its namespace, byte by byte: `job` covers `job:7` and `jobs`; empty covers all.
/// A prefix that begins a `FILE:` path ends between two parts of it: `FILE:/a` covers the file or directory `/a` and
/// all below it, and not `/ab`. A trailing `/` or `/**` makes no difference there. A tree is covered if all of it is
/// (A3).
///
/// *Holders*: the ones that the principal may act as (A4), as globs (base/glob.h). None: its own name and `name/…`.
struct Grant {
    Verbs verbs;
    std::string name_space{};
    std::string prefix{};
    std::vector<std::string> holders{};

    bool operator==(const Grant&) const = default;
};

/// The grant with the default namespace named and the prefix in its normal form. Error `invalid_argument` if a part is
/// malformed or goes over a limit, or if one of the verbs could never have an effect in it: then it
/// was meant otherwise.
Result<Grant> checked_grant(Grant grant);

// ---- what a grant covers. REQUIRES: checked_grant() returned it ----

bool covers_namespace(const Grant& grant, std::string_view name_space);
/// True for a resource, or the whole of a tree.
bool covers_resource(const Grant& grant, const lease::SplitName& name);
/// True if the grant's principal may act as the holder (A4).
bool covers_holder(const Grant& grant, std::string_view principal, std::string_view holder);
/// True if all resources of the namespace are covered.
bool covers_all_of(const Grant& grant, std::string_view name_space);
/// True if all resources of all namespaces are covered.
bool covers_everywhere(const Grant& grant);
/// True if any principal may act as any holder.
bool covers_any_holder(const Grant& grant);

/// As people read it: `hold,read on billing, prefix job:, as billing/*`.
std::string to_string(const Grant& grant);

}  // namespace holdfast::auth

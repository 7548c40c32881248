#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace holdfast::auth {

/// Which client certificates belong to a principal, by a name in their subject alternative names. Four forms:
///
///     spiffe://prod/worker/7      a URI
///     spiffe://prod/worker/*      all URIs below it, at any depth
///     worker-7.example.com        a DNS name
///     *.workers.example.com       a DNS name with one more label
///
/// Of the patterns that match a name, an exact one is the most specific, and then the longest. No two patterns are
/// equally specific for a name.

/// The pattern with a DNS name in lower case. Error `invalid_argument` for any other form.
Result<std::string> checked_certificate_pattern(std::string_view pattern);

/// The names in a client certificate that a certificate authority of this server has signed.
struct CertificateNames {
    std::vector<std::string> uris;
    std::vector<std::string> dns_names;

    bool operator==(const CertificateNames&) const = default;
};

/// The patterns that would match a URI, or a DNS name, the most specific first. None for a name that is not in plain
/// form (with `..`, `//`, `%`, `*`, a query, …): two programs may read it differently, so it maps to nobody.
std::vector<std::string> patterns_for_uri(std::string_view uri);
std::vector<std::string> patterns_for_dns_name(std::string_view name);

}  // namespace holdfast::auth

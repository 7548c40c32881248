#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "authority/authority.h"
#include "base/json_writer.h"

namespace holdfast::doors::http {

/// The holder's own time, if it sent one (T4).
using ClientTime = std::optional<std::uint64_t>;

/// A lease to be shown.
struct LeaseView {
    std::string_view resource;
    const lease::Lease& lease;
    const lease::Timeline& timeline;
    bool granted = false;  ///< to the reader of this response
    bool brief = false;    ///< without the holder's own texts
};
/// In the format of docs/http-api.md. Instants of the store are shown as wall-clock times, for people only (T1).
void put_lease(JsonWriter& json, const LeaseView& view, ClientTime client_time = {});

/// The fields that name a lease: id, namespace and resource.
void put_names(JsonWriter& json, std::string_view resource, lease::Token token);

/// For whom an expired lease is reserved, and for how much longer (R5).
void put_grace(JsonWriter& json, const lease::Verified& verified);

}  // namespace holdfast::doors::http

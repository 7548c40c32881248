#pragma once

#include <string>
#include <string_view>

#include "authority/authority.h"
#include "base/json_writer.h"
#include "doors/http/response.h"

namespace holdfast::doors::http {

/// Response parts shared by all resources, in the format of docs/http-api.md.

Response failure(const authority::Refused& refused);

/// Writes `conflicts`: the leases and waiters that block the request.
void put_conflicts(JsonWriter& json, const std::vector<authority::NamedConflict>& conflicts);

void put_ban(JsonWriter& json, const std::string& holder, const lease::Ban& ban);
Response answer_ban(const std::string& holder, const lease::Ban& ban);

/// `{"NAME": …}`. `put_one(json, one)` writes the value.
template <class One, class PutOne>
Response answer_one(std::string_view name, const One& one, PutOne put_one) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().key(name);
    put_one(json, one);
    json.close_object();
    return response;
}

/// `{"NAME": […], "next": …}`: one page of a list. `next` is the value of `after` that returns the following page;
/// empty on the last page.
template <class List, class PutOne>
Response answer_page(std::string_view name, const List& list, std::string_view next, PutOne put_one) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().key(name).open_array();
    for (const auto& one : list)
        put_one(json, one);
    json.close_array().field_or_null("next", next).close_object();
    return response;
}

}  // namespace holdfast::doors::http

#pragma once

#include <string_view>

#include "doors/http/json_writer.h"
#include "doors/http/response.h"

namespace holdfast::http {

/// `{"NAME": …}`. `put_one(json, one)` writes what is in it.
template <class One, class PutOne>
Response answer_one(std::string_view name, const One& one, PutOne put_one) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().key(name);
    put_one(json, one);
    json.close_object();
    return response;
}

/// `{"NAME": […], "next": …}`: one page of a list. `next` is what to say as `after` to get the page that follows; empty
/// if there is none.
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

}  // namespace holdfast::http

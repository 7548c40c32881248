#pragma once

#include "store/cas/swaps.h"

namespace holdfast::core {

/// The store's looks at many records, as looks at the engine.
void look_for_leases_of(Swaps& swaps, Engine& engine, std::string_view holder, Store::Which which, std::size_t most,
                        Callback<Result<std::vector<LeaseName>>> reply);
void look_for_page(Swaps& swaps, Engine& engine, const ListQuery& query, Callback<Result<ListPage>> reply);

}  // namespace holdfast::core

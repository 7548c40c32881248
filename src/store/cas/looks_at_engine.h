#pragma once

#include "store/cas/cas_loop.h"

namespace holdfast::core {

/// The store's looks at many records, as looks at the engine.
void look_for_leases_of(CasLoop& swaps, Engine& engine, std::string_view holder, Store::Which which, std::size_t most,
                        Callback<Result<std::vector<LeaseName>>> reply);
void look_for_page(CasLoop& swaps, Engine& engine, const ListQuery& query, Callback<Result<ListPage>> reply);

}  // namespace holdfast::core

#pragma once

#include <string>

#include "store/postgres/pool.h"
#include "store/postgres/postgres_engine.h"

namespace holdfast::postgres {

/// The engine's part of GET /v1/store, without any password.
std::string status_of(const PostgresEngineOptions& options, const Pool& pool, const Hello& hello);

}  // namespace holdfast::postgres

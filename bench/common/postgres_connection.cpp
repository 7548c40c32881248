#include "postgres_connection.h"

#include <algorithm>
#include <cstdlib>
#include <libpq-fe.h>
#include <memory>
#include <poll.h>
#include <stdexcept>
#include <utility>

namespace holdfast::bench {
namespace {

using ResultHandle = std::unique_ptr<PGresult, decltype(&PQclear)>;

bool went_well(const PGresult* result) {
    const ExecStatusType status = PQresultStatus(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

}  // namespace

PostgresConnection::PostgresConnection(std::uint16_t port) {
    const std::string where =
        "host=127.0.0.1 user=holdfast dbname=postgres connect_timeout=30 port=" + std::to_string(port);
    handle_ = PQconnectdb(where.c_str());
    if (PQstatus(handle_) == CONNECTION_OK) return;
    const std::string why = PQerrorMessage(handle_);
    PQfinish(handle_);
    throw std::runtime_error("connect: " + why);
}

PostgresConnection::~PostgresConnection() {
    PQfinish(handle_);
}

void PostgresConnection::run(const char* sql) {
    const ResultHandle result(PQexec(handle_, sql), PQclear);
    if (!went_well(result.get())) fail(sql);
}

PostgresConnection::Rows PostgresConnection::ask(const char* statement, const std::vector<const char*>& values,
                                                 std::chrono::steady_clock::time_point until) {
    const int count = static_cast<int>(values.size());
    if (PQsendQueryPrepared(handle_, statement, count, values.data(), nullptr, nullptr, 0) != 1) fail(statement);
    Rows rows;
    while (true) {
        while (PQisBusy(handle_) != 0)
            wait(until);
        const ResultHandle result(PQgetResult(handle_), PQclear);
        if (!result) return rows;
        if (!went_well(result.get())) fail(statement);
        rows.count = static_cast<std::uint32_t>(std::strtoul(PQcmdTuples(result.get()), nullptr, 10));
        for (int row = 0; row < PQntuples(result.get()); ++row)
            rows.values.emplace_back(PQgetvalue(result.get(), row, 0));
    }
}

void PostgresConnection::wait(std::chrono::steady_clock::time_point until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    if (left <= 0) throw std::runtime_error("the server does not answer");
    pollfd polled{.fd = fd(), .events = POLLIN, .revents = 0};
    poll(&polled, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000)));
    if (PQconsumeInput(handle_) != 1) fail("read");
}

void PostgresConnection::add(const char* statement, const std::vector<const char*>& values) {
    if (PQpipelineStatus(handle_) == PQ_PIPELINE_OFF && PQenterPipelineMode(handle_) != 1) fail("enter pipeline mode");
    const int count = static_cast<int>(values.size());
    if (PQsendQueryPrepared(handle_, statement, count, values.data(), nullptr, nullptr, 0) != 1) fail(statement);
}

/// May wait until the server takes it, which it always does: its answers so far are few and small.
void PostgresConnection::commit() {
    if (PQpipelineSync(handle_) != 1) fail("commit");
}

std::optional<PostgresConnection::Answer> PostgresConnection::receive() {
    if (PQconsumeInput(handle_) != 1) fail("read");
    while (PQisBusy(handle_) == 0) {
        const ResultHandle result(PQgetResult(handle_), PQclear);
        if (!result) continue;  // between two statements
        if (PQresultStatus(result.get()) == PGRES_PIPELINE_SYNC) return std::exchange(answer_, {});
        if (went_well(result.get()))
            answer_.rows += static_cast<std::uint32_t>(std::strtoul(PQcmdTuples(result.get()), nullptr, 10));
        else if (answer_.error.empty())
            answer_.error = PQresultErrorMessage(result.get());
    }
    return std::nullopt;
}

int PostgresConnection::fd() const {
    return PQsocket(handle_);
}

void PostgresConnection::fail(const char* what) const {
    throw std::runtime_error(std::string(what) + ": " + PQerrorMessage(handle_));
}

}  // namespace holdfast::bench

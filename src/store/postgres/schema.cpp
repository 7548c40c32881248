#include "store/postgres/schema.h"

#include <fmt/format.h>

namespace holdfast::store::postgres {
namespace {

/// Replaces `~` by the schema's name.
std::string in_schema(std::string_view sql, std::string_view schema) {
    std::string out;
    out.reserve(sql.size() + 40 * schema.size());
    for (const char c : sql)
        if (c == '~')
            out += schema;
        else
            out += c;
    return out;
}

constexpr std::string_view hello = R"sql(
SET search_path = pg_catalog;
SET lock_timeout = 5000;
SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS refuses,
       current_setting('server_version') AS version,
       current_setting('server_version_num')::integer AS number,
       (SELECT system_identifier::text FROM pg_control_system())
           || CASE WHEN pg_is_in_recovery() THEN ''
                   ELSE '.' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END AS history,
       extract(epoch FROM pg_postmaster_start_time())::text AS started,
       CASE WHEN pg_is_in_recovery() THEN 0 ELSE (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint END AS place,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000 AS clock,
       pg_backend_pid() AS pid,
       (SELECT (extract(epoch FROM a.backend_start) * 1000000)::bigint FROM pg_stat_activity a
            WHERE a.pid = pg_backend_pid()) AS backend_started,
       to_regclass('~.version') IS NOT NULL AS made
)sql";

/// `watch` is the time at which a row should next be examined, because it is due or can be deleted. It is the only
/// indexed time. A renewal, which makes the row due later, leaves it unchanged, so the new version of the row stays on
/// its page and no index changes (a HOT update). A reader that comes too early moves it on.
constexpr std::string_view first_version = R"sql(
CREATE TABLE ~.kept (
    kind smallint NOT NULL,         -- 0: of a resource; 1: a document
    name bytea NOT NULL,
    write bigint NOT NULL,
    written_at bigint NOT NULL,     -- all times are in nanoseconds since 1970
    keep_until bigint NOT NULL,
    due bigint NOT NULL,
    watch bigint NOT NULL,
    holders bytea[] NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (kind, name)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
CREATE INDEX kept_watch ON ~.kept (watch);
CREATE INDEX kept_holders ON ~.kept USING gin (holders) WITH (fastupdate = off);
)sql";

/// `holders` is indexed, and may name more than the actual holders. `held_by` names the actual ones; null means that
/// both are the same. So a release, or the next lease of an earlier holder, is a HOT update too.
constexpr std::string_view second_version = R"sql(
ALTER TABLE ~.kept ADD COLUMN held_by bytea[];
)sql";

/// Write ids became longer.
constexpr std::string_view third_version = R"sql(
ALTER TABLE ~.kept ALTER COLUMN write TYPE uuid USING (repeat('0', 16) || lpad(to_hex(write), 16, '0'))::uuid;
)sql";

/// Functions with other parameters would coexist with the old ones, and fronts of older versions would keep using
/// those.
constexpr std::string_view without_functions = R"sql(
DO $drop$
DECLARE
    old regprocedure;
BEGIN
    FOR old IN SELECT p.oid::regprocedure FROM pg_proc p WHERE p.pronamespace = '~'::regnamespace
        AND p.proname IN ('clock', 'fetch', 'too_late', 'all_holders', 'swap', 'swaps', 'add_up', 'overlapping', 'of_holder',
                          'scan', 'overdue', 'sweep', 'nothing', 'check_marker', 'place',
                          'check_place', 'probe')
    LOOP
        EXECUTE 'DROP FUNCTION ' || old::text;
    END LOOP;
END $drop$;
)sql";

constexpr std::string_view before_steps = R"sql(
BEGIN;
SET LOCAL search_path = pg_catalog;
SET LOCAL synchronous_commit = local;
SELECT pg_advisory_xact_lock(hashtext('~.schema'));
DO $do$
DECLARE
    current integer;
BEGIN
    IF to_regnamespace('~') IS NULL THEN
        CREATE SCHEMA ~;
    END IF;
    IF to_regclass('~.version') IS NULL THEN
        CREATE TABLE ~.version (version integer NOT NULL);
        INSERT INTO ~.version VALUES (0);
    END IF;
    SELECT version INTO STRICT current FROM ~.version;
)sql";

constexpr std::string_view after_steps = R"sql(
END $do$;
COMMIT
)sql";

/// Runs on a schema below this version.
std::string migration(int version, std::string_view sql) {
    return fmt::format("IF current < {} THEN EXECUTE $step${}$step$; END IF;\n", version, sql);
}

constexpr std::string_view prepare = R"sql(
SET lock_timeout = 200;
SET synchronous_commit = on;
SET default_transaction_isolation = 'read committed';
SET jit = off;
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
PREPARE hf_fetch(smallint, bytea, boolean) AS SELECT * FROM ~.fetch($1, $2, $3);
PREPARE hf_swap(smallint[], bytea[], uuid[], uuid[], bigint[], bigint[], bigint[], bytea[], bigint[], bigint[], text[],
                text[], bigint, bigint, uuid, uuid, bigint, integer, integer, integer, integer, boolean)
    AS SELECT * FROM ~.swap($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22);
PREPARE hf_overlapping(bytea, bytea, bytea, integer[], integer) AS SELECT * FROM ~.overlapping($1, $2, $3, $4, $5);
PREPARE hf_of_holder(bytea, integer) AS SELECT * FROM ~.of_holder($1, $2);
PREPARE hf_scan(smallint, bytea, bytea, bytea, integer) AS SELECT * FROM ~.scan($1, $2, $3, $4, $5);
PREPARE hf_overdue(integer) AS SELECT * FROM ~.overdue($1);
PREPARE hf_sweep(bigint, integer) AS SELECT ~.sweep($1, $2);
PREPARE hf_probe AS SELECT ~.probe();
PREPARE hf_end(integer, bigint) AS
    WITH it AS MATERIALIZED (
        SELECT a.pid, concat(a.wait_event_type, '/', a.wait_event) AS waits_for FROM pg_stat_activity a
            WHERE a.pid = $1 AND (extract(epoch FROM a.backend_start) * 1000000)::bigint = $2)
    SELECT convert_to(waits_for, 'UTF8'), pg_terminate_backend(pid) FROM it;
PREPARE hf_now AS SELECT ~.clock();
PREPARE hf_tell(text) AS SELECT set_config('synchronous_commit', 'off', true), pg_notify('~', $1)
)sql";

}  // namespace

std::string hello_sql(std::string_view schema) {
    return in_schema(hello, schema);
}

std::string version_sql(std::string_view schema) {
    return in_schema("SELECT version FROM ~.version", schema);
}

std::string migrate_sql(std::string_view schema) {
    std::string sql(before_steps);
    sql += migration(1, first_version);
    sql += migration(2, second_version);
    sql += migration(3, third_version);
    sql += migration(schema_version, without_functions);
    sql += migration(schema_version, functions());
    sql += migration(schema_version, "UPDATE ~.version SET version = " + std::to_string(schema_version));
    sql += after_steps;
    return in_schema(sql, schema);
}

std::string prepare_sql(std::string_view schema, long long answer_within_ms) {
    return fmt::format("SET statement_timeout = {};{}", answer_within_ms, in_schema(prepare, schema));
}

}  // namespace holdfast::store::postgres

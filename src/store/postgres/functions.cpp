#include <fmt/format.h>
#include <string>
#include <string_view>

#include "store/postgres/schema.h"

namespace holdfast::store::postgres {

namespace {

constexpr std::string_view before_one_change = R"sql(
CREATE OR REPLACE FUNCTION ~.clock() RETURNS bigint LANGUAGE sql VOLATILE
    AS $$ SELECT (date_part('epoch', clock_timestamp()) * 1000000)::bigint * 1000 $$;

-- How far the server has come in its write-ahead log.
CREATE OR REPLACE FUNCTION ~.place() RETURNS bigint LANGUAGE sql VOLATILE
    AS $$ SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint $$;

-- The write of what is not there.
CREATE OR REPLACE FUNCTION ~.nothing() RETURNS uuid LANGUAGE sql IMMUTABLE
    AS $$ SELECT '00000000-0000-0000-0000-000000000000'::uuid $$;

-- What is there. The time is from before the look: if something in it was due by then, and is just being written, the
-- answer waits for that, so that nothing is ever called over that is just being extended.
CREATE OR REPLACE FUNCTION ~.fetch(of_kind smallint, of_name bytea, no_wait boolean,
                        OUT now bigint, OUT write uuid, OUT written_at bigint, OUT bytes bytea, OUT place bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    ends bigint;
BEGIN
    now := ~.clock();
    place := ~.place();
    SELECT k.write, k.written_at, k.bytes, k.due INTO write, written_at, bytes, ends
        FROM ~.kept k WHERE k.kind = of_kind AND k.name = of_name;
    IF ends <= now THEN
        IF no_wait THEN
            PERFORM 1 FROM ~.kept k WHERE k.kind = of_kind AND k.name = of_name FOR SHARE NOWAIT;
        END IF;
        PERFORM 1 FROM ~.kept k WHERE k.kind = of_kind AND k.name = of_name FOR SHARE;
        SELECT k.write, k.written_at, k.bytes INTO write, written_at, bytes
            FROM ~.kept k WHERE k.kind = of_kind AND k.name = of_name;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION ~.too_late() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN  -- It had to wait for a row: the next try is refused, if that is still so.
    RAISE EXCEPTION USING ERRCODE = '40001', MESSAGE = 'the time for this write passed while it waited';
END $$;

-- What goes into the index: those of before stay in it, so that it does not change whenever a resource is released or
-- goes from hand to hand. Not more than a few.
CREATE OR REPLACE FUNCTION ~.all_holders(before bytea[], after bytea[]) RETURNS bytea[] LANGUAGE sql IMMUTABLE
    AS $$ SELECT CASE WHEN after <@ before THEN before WHEN cardinality(before) < 8 THEN before || after ELSE after END $$;

-- The compare-and-swap, of one row or many: all or nothing, in the order of their names. A row is written only if its
-- write is the expected one, at a time in [valid_from, valid_until) that is read before it is locked and again after. All
-- may be written in [all_from, all_until). The makes, the changes and then as many as end, each kind by one statement.
-- The first row of the answer is true of all of them except those that follow, with their numbers: of these it has what
-- is there instead, or only `write` if that is as expected. `place` is before the commit, and thus as safe as that. The
-- marker must be between the two.
-- It waits for rows only in that order, new ones first. So no two of these ever wait for each other: who makes a row can
-- hold up only others who make it. With `no_wait`, and then one row only, it does not wait for that. What cannot be done
-- like this fails (class 40 or 55) and is to be tried again, each row by itself.
-- PL/pgSQL prepares each expression anew in each transaction, so a change of one row, the usual call, evaluates few.
-- Arrays are unnested in lists of columns: FROM would store them first.
CREATE OR REPLACE FUNCTION ~.swap(kinds smallint[], names bytea[], expecteds uuid[], becomings uuid[],
                                  froms bigint[], untils bigint[], written_ats bigint[], contents bytea[],
                                  keep_untils bigint[], dues bigint[], holdings text[], notices text[],
                                  all_from bigint, all_until bigint, marker uuid, last_marker uuid,
                                  least_place bigint, makes integer, changes integer, ends integer, tells integer,
                                  no_wait boolean)
RETURNS TABLE (number bigint, done boolean, now bigint, write uuid, written_at bigint, bytes bytea, place bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    begun bigint;
    part integer;
    did integer;
    ended bigint[];
    refused bigint[];
    total bigint;
    held bytea[];
    one record;
BEGIN
    IF ~.place() < least_place OR no_wait THEN  -- before anything is written: that alone would bring it further
        IF ~.place() < least_place THEN
            RAISE EXCEPTION USING ERRCODE = 'HF001', MESSAGE = 'its write-ahead log ends before a place where it has been';
        END IF;
        PERFORM 1 FROM ~.kept k WHERE k.kind = kinds[1] AND k.name = names[1] FOR NO KEY UPDATE NOWAIT;
    END IF;
    begun := ~.clock();
    IF changes = 1 AND makes + ends = 0 AND begun >= all_from AND begun < all_until THEN
        held := holdings[1];
        UPDATE ~.kept k )sql";

/// How a row changes, from the columns of `u`.
constexpr std::string_view change = R"sql(
            SET write = u.becomes, written_at = u.written_at, keep_until = u.keep_until, due = u.due,
                holders = ~.all_holders(k.holders, u.holders), held_by = u.holders, bytes = u.bytes,
                watch = CASE WHEN k.watch BETWEEN begun AND u.next_watch THEN k.watch ELSE u.next_watch END
)sql";

constexpr std::string_view after_one_change = R"sql(
            FROM (SELECT becomings[1] AS becomes, written_ats[1] AS written_at, contents[1] AS bytes,
                         keep_untils[1] AS keep_until, dues[1] AS due, held AS holders,
                         least(dues[1], keep_untils[1]) AS next_watch) u
            WHERE k.kind = kinds[1] AND k.name = names[1] AND k.write = expecteds[1];
        GET DIAGNOSTICS did = ROW_COUNT;
    ELSE
        did := 0;
        IF makes > 0 THEN
            INSERT INTO ~.kept (kind, name, write, written_at, keep_until, due, watch, holders, bytes)
                SELECT u.kind, u.name, u.becomes, u.written_at, u.keep_until, u.due, least(u.due, u.keep_until),
                       u.holders::bytea[], u.bytes
                FROM (SELECT unnest(kinds) AS kind, unnest(names) AS name, unnest(expecteds) AS expected,
                             unnest(becomings) AS becomes, unnest(froms) AS valid_from, unnest(untils) AS valid_until,
                             unnest(written_ats) AS written_at, unnest(contents) AS bytes,
                             unnest(keep_untils) AS keep_until, unnest(dues) AS due, unnest(holdings) AS holders) u
                WHERE u.expected = ~.nothing() AND length(u.bytes) > 0
                      AND begun >= u.valid_from AND begun < u.valid_until
                ON CONFLICT DO NOTHING;
            GET DIAGNOSTICS did = ROW_COUNT;
        END IF;
        IF changes > 0 THEN
            UPDATE ~.kept k )sql";

constexpr std::string_view after_changes = R"sql(
                FROM (SELECT a.*, a.holdings::bytea[] AS holders, least(a.due, a.keep_until) AS next_watch
                      FROM (SELECT unnest(kinds) AS kind, unnest(names) AS name, unnest(expecteds) AS expected,
                                   unnest(becomings) AS becomes, unnest(froms) AS valid_from,
                                   unnest(untils) AS valid_until, unnest(written_ats) AS written_at,
                                   unnest(contents) AS bytes, unnest(keep_untils) AS keep_until, unnest(dues) AS due,
                                   unnest(holdings) AS holdings) a
                      WHERE a.expected <> ~.nothing() AND length(a.bytes) > 0
                            AND begun >= a.valid_from AND begun < a.valid_until
                      OFFSET 0) u
                WHERE k.kind = u.kind AND k.name = u.name AND k.write = u.expected;
            GET DIAGNOSTICS part = ROW_COUNT;
            did := did + part;
        END IF;
        IF ends > 0 THEN
            WITH found AS MATERIALIZED (
                SELECT u.number, k.kind, k.name
                FROM (SELECT unnest(kinds) AS kind, unnest(names) AS name, unnest(expecteds) AS expected,
                             unnest(froms) AS valid_from, unnest(untils) AS valid_until, unnest(contents) AS bytes,
                             generate_subscripts(names, 1)::bigint AS number) u
                JOIN ~.kept k ON k.kind = u.kind AND k.name = u.name AND k.write = u.expected
                WHERE length(u.bytes) = 0 AND begun >= u.valid_from AND begun < u.valid_until
                FOR UPDATE OF k SKIP LOCKED
            ), gone AS (
                DELETE FROM ~.kept k USING found f WHERE k.kind = f.kind AND k.name = f.name RETURNING f.number
            )
            SELECT coalesce(array_agg(g.number), '{}') INTO ended FROM gone g;
            did := did + cardinality(ended);
        END IF;
    END IF;

    now := ~.clock();
    place := ~.place();
    done := true;
    RETURN NEXT;
    IF now < all_from OR now >= all_until OR did < makes + changes + ends OR tells > 0 THEN
        IF EXISTS (SELECT FROM (SELECT unnest(froms) AS valid_from, unnest(untils) AS valid_until) u
                   WHERE begun >= u.valid_from AND begun < u.valid_until
                         AND (now < u.valid_from OR now >= u.valid_until)) THEN
            PERFORM ~.too_late();
        END IF;
        total := 0;
        FOR one IN
            SELECT u.*, u.expected = ~.nothing() AND length(u.bytes) = 0 AS is_nothing
            FROM (SELECT unnest(kinds) AS kind, unnest(names) AS name, unnest(expecteds) AS expected,
                         unnest(becomings) AS becomes, unnest(froms) AS valid_from, unnest(untils) AS valid_until,
                         unnest(contents) AS bytes, generate_subscripts(names, 1)::bigint AS number) u
            LEFT JOIN ~.kept k ON k.kind = u.kind AND k.name = u.name
            WHERE did < makes + changes + ends AND k.write IS DISTINCT FROM u.becomes
                  AND u.number <> ALL (coalesce(ended, '{}'))
        LOOP
            number := one.number;
            done := false;
            SELECT f.now, coalesce(f.write, ~.nothing()), f.written_at, f.bytes, f.place
                INTO now, write, written_at, bytes, place FROM ~.fetch(one.kind, one.name, true) f;
            IF write = one.expected THEN
                CONTINUE WHEN one.is_nothing AND now >= one.valid_from AND now < one.valid_until;
                IF now >= one.valid_from AND now < one.valid_until THEN
                    RAISE EXCEPTION USING ERRCODE = '40001', MESSAGE = 'somebody else changes this row, or has it locked';
                END IF;
                bytes := NULL;
            END IF;
            total := ~.add_up(total, coalesce(bytes, ''));
            refused := refused || number;
            RETURN NEXT;
        END LOOP;
        PERFORM pg_notify('~', u.notice)
            FROM (SELECT unnest(notices) AS notice, generate_subscripts(notices, 1)::bigint AS number) u
            WHERE tells > 0 AND u.notice <> '' AND u.number <> ALL (coalesce(refused, '{}'));
    END IF;
    -- After all that it is to be true of: what was deleted or restored by then is seen.
    PERFORM 1 FROM ~.kept k WHERE k.kind = 0 AND k.name = '\x016d61726b6572'::bytea
        AND k.write BETWEEN marker AND last_marker;
    IF NOT FOUND AND marker <> ~.nothing() THEN
        RAISE EXCEPTION USING ERRCODE = 'HF001', MESSAGE = 'its marker is gone, or is not the one that was there';
    END IF;
END $$;

-- Looks answer with a first row that has only the time, as `written_at`. What would be more than a front should hold at once
-- is an error; only a scan can do with less, and then ends with a row that has no name.

CREATE OR REPLACE FUNCTION ~.add_up(total bigint, bytes bytea) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF total + length(bytes) > 67108864 THEN
        RAISE EXCEPTION USING ERRCODE = '54000', MESSAGE = 'what is there is too large for one answer';
    END IF;
    RETURN total + length(bytes);
END $$;

-- The records with names from `low` to below `high`, and the trees above: for each cut in `cuts`, the tree at the first
-- `cut` bytes of `of_name`. As in fetch(), waits for concurrent writes of records that are due.
CREATE OR REPLACE FUNCTION ~.overlapping(of_name bytea, low bytea, high bytea, cuts integer[], most integer)
RETURNS TABLE (name bytea, write uuid, written_at bigint, bytes bytea)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    now bigint := ~.clock();
    total bigint := 0;
    above bytea[] := ARRAY(SELECT substring(of_name FROM 1 FOR cut) || '\x2f2a2a'::bytea FROM unnest(cuts) cut);
BEGIN
    PERFORM 1 FROM ~.kept k WHERE k.kind = 0 AND k.name = ANY(above) AND k.due <= now FOR SHARE;
    PERFORM 1 FROM ~.kept k WHERE k.kind = 0 AND k.name >= low AND k.name < high AND k.due <= now
        ORDER BY k.name LIMIT most FOR SHARE;
    RETURN QUERY SELECT NULL::bytea, NULL::uuid, now, NULL::bytea;
    FOR name, write, written_at, bytes IN
        (SELECT k.name, k.write, k.written_at, k.bytes FROM ~.kept k
             WHERE k.kind = 0 AND k.name = ANY(above) AND k.name <> of_name LIMIT most)
        UNION ALL
        (SELECT k.name, k.write, k.written_at, k.bytes FROM ~.kept k
             WHERE k.kind = 0 AND k.name >= low AND k.name < high AND k.name <> of_name ORDER BY k.name LIMIT most)
    LOOP
        total := ~.add_up(total, bytes);
        RETURN NEXT;
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION ~.of_holder(holder bytea, most integer)
RETURNS TABLE (name bytea, write uuid, written_at bigint, bytes bytea)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    total bigint := 0;
BEGIN
    RETURN QUERY SELECT NULL::bytea, NULL::uuid, ~.clock(), NULL::bytea;
    FOR name, write, written_at, bytes IN
        SELECT k.name, k.write, k.written_at, k.bytes FROM ~.kept k
            WHERE k.kind = 0 AND k.holders @> ARRAY[holder] AND holder = ANY(coalesce(k.held_by, k.holders)) LIMIT most
    LOOP
        total := ~.add_up(total, bytes);
        RETURN NEXT;
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION ~.scan(of_kind smallint, low bytea, high bytea, after bytea, most integer)
RETURNS TABLE (name bytea, write uuid, written_at bigint, bytes bytea)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    total bigint := 0;
BEGIN
    RETURN QUERY SELECT NULL::bytea, NULL::uuid, ~.clock(), NULL::bytea;
    FOR name, write, written_at, bytes IN
        SELECT k.name, k.write, k.written_at, k.bytes FROM ~.kept k
            WHERE k.kind = of_kind AND k.name >= low AND k.name < high AND k.name > after ORDER BY k.name LIMIT most
    LOOP
        IF total > 8388608 THEN
            name := NULL;
            bytes := NULL;
        END IF;
        RETURN NEXT;
        EXIT WHEN name IS NULL;
        total := total + length(bytes);
    END LOOP;
END $$;

-- Names what was due two seconds ago, each for five seconds to one front only.
CREATE OR REPLACE FUNCTION ~.overdue(most integer) RETURNS TABLE (name bytea)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    now bigint := ~.clock();
    late bigint := now - 2000000000;
BEGIN
    UPDATE ~.kept k SET watch = least(k.due, k.keep_until)
        FROM (SELECT l.kind, l.name FROM ~.kept l WHERE l.watch < late AND l.due >= late AND l.keep_until >= late
              ORDER BY l.watch LIMIT 2000 FOR NO KEY UPDATE SKIP LOCKED) early
        WHERE k.kind = early.kind AND k.name = early.name;
    RETURN QUERY UPDATE ~.kept k SET watch = now + 5000000000
        FROM (SELECT l.kind, l.name FROM ~.kept l WHERE l.watch < late AND l.due < late
              ORDER BY l.watch LIMIT most FOR NO KEY UPDATE SKIP LOCKED) found
        WHERE k.kind = found.kind AND k.name = found.name RETURNING k.name;
END $$;

-- Fails, or waits, if writes do at the moment. Leaves nothing behind.
CREATE OR REPLACE FUNCTION ~.probe() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    own bytea := int4send(pg_backend_pid());
BEGIN
    INSERT INTO ~.kept (kind, name, write, written_at, keep_until, due, watch, holders, bytes)
        VALUES (2, own, ~.nothing(), 0, 0, 0, 9223372036854775807, '{}', own)
        ON CONFLICT (kind, name) DO UPDATE SET bytes = own;
    DELETE FROM ~.kept k WHERE k.kind = 2 AND k.name = own;
    RETURN FOUND;
END $$;

-- Forgets what may be forgotten by the time that the front takes it to be, at most so many; nothing while somebody else is
-- at it. How many they were.
CREATE OR REPLACE FUNCTION ~.sweep(about bigint, most integer) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    now bigint := least(about, ~.clock());
    swept bigint;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('~.sweep')) THEN
        RETURN 0;
    END IF;
    DELETE FROM ~.kept k
        USING (SELECT l.kind, l.name FROM ~.kept l WHERE l.watch < now AND l.keep_until < now
               ORDER BY l.watch LIMIT most FOR UPDATE SKIP LOCKED) old
        WHERE k.kind = old.kind AND k.name = old.name;
    GET DIAGNOSTICS swept = ROW_COUNT;
    RETURN swept;
END $$;
)sql";

}  // namespace

std::string functions() {
    return fmt::format("{}{}{}{}{}", before_one_change, change, after_one_change, change, after_changes);
}

}  // namespace holdfast::store::postgres

#pragma once

#include <string_view>

namespace holdfast::store::postgres {

/// Version 1 of the schema, whose name is `~`, as fronts of that version made it.
inline constexpr std::string_view schema_version_1 = R"sql(
CREATE SCHEMA ~;
CREATE TABLE ~.version (version integer NOT NULL);
INSERT INTO ~.version VALUES (1);
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

CREATE FUNCTION ~.clock() RETURNS bigint LANGUAGE sql VOLATILE
    AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000 $$;

-- What is there. The time is from before the look: if something in it was due by then, and is just being written, the
-- answer waits for that, so that nothing is ever called over that is just being extended.
CREATE FUNCTION ~.fetch(of_kind smallint, of_name bytea, no_wait boolean,
                        OUT now bigint, OUT write bigint, OUT written_at bigint, OUT bytes bytea)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    ends bigint;
BEGIN
    now := ~.clock();
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

-- A write that takes effect only on what is expected, at a time in [valid_from, valid_until) that is read after the row
-- is locked. Each statement in here sees what was committed before that statement. If not done: what is there instead;
-- only `write` if that is as expected.
CREATE FUNCTION ~.swap(of_kind smallint, of_name bytea, expected bigint, becomes bigint,
                       valid_from bigint, valid_until bigint, new_written_at bigint, new_bytes bytea,
                       new_keep_until bigint, new_due bigint, new_holders bytea[], notice text, no_wait boolean,
                       OUT done boolean, OUT now bigint, OUT write bigint, OUT written_at bigint, OUT bytes bytea)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    next_watch bigint := least(new_due, new_keep_until);
BEGIN
    done := false;
    IF no_wait THEN
        PERFORM 1 FROM ~.kept k WHERE k.kind = of_kind AND k.name = of_name FOR NO KEY UPDATE NOWAIT;
    END IF;
    FOR attempt IN 1..3 LOOP
        now := ~.clock();
        IF now >= valid_from AND now < valid_until THEN
            IF expected = 0 AND length(new_bytes) > 0 THEN
                INSERT INTO ~.kept AS k
                    VALUES (of_kind, of_name, becomes, new_written_at, new_keep_until, new_due, next_watch, new_holders,
                            new_bytes)
                    ON CONFLICT DO NOTHING;
                done := FOUND;
            ELSIF expected = 0 THEN
                done := NOT EXISTS (SELECT FROM ~.kept k WHERE k.kind = of_kind AND k.name = of_name);
            ELSIF length(new_bytes) > 0 THEN
                UPDATE ~.kept k
                    SET write = becomes, written_at = new_written_at, keep_until = new_keep_until, due = new_due,
                        holders = new_holders, bytes = new_bytes,
                        watch = CASE WHEN k.watch BETWEEN now AND next_watch THEN k.watch ELSE next_watch END
                    WHERE k.kind = of_kind AND k.name = of_name AND k.write = expected;
                done := FOUND;
            ELSE
                DELETE FROM ~.kept k WHERE k.kind = of_kind AND k.name = of_name AND k.write = expected;
                done := FOUND;
            END IF;
            IF done THEN
                now := ~.clock();
                IF now < valid_from OR now >= valid_until THEN  -- it had to wait for the row: again, and then refused
                    RAISE EXCEPTION USING ERRCODE = '40001', MESSAGE = 'the time for this write passed while it waited';
                END IF;
                IF notice <> '' THEN
                    PERFORM pg_notify('~', notice);
                END IF;
                RETURN;
            END IF;
        END IF;
        SELECT f.now, coalesce(f.write, 0), f.written_at, f.bytes INTO now, write, written_at, bytes
            FROM ~.fetch(of_kind, of_name, no_wait) f;
        IF write <> expected THEN
            RETURN;
        END IF;
        bytes := NULL;
        IF now < valid_from OR now >= valid_until THEN
            RETURN;
        END IF;
        -- Somebody made it as expected just now.
    END LOOP;
    RAISE EXCEPTION USING ERRCODE = '40001', MESSAGE = 'this row changes too often';
END $$;

-- Looks answer with a first row that has only the time, as `write`.

-- Those between two names, and the trees that begin with as many bytes of a name as each of `cuts` says. As in fetch(),
-- what was due is shown only after whoever is writing it.
CREATE FUNCTION ~.overlapping(of_name bytea, low bytea, high bytea, cuts integer[], most integer)
RETURNS TABLE (name bytea, write bigint, written_at bigint, bytes bytea)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    now bigint := ~.clock();
    above bytea[] := ARRAY(SELECT substring(of_name FROM 1 FOR cut) || '\x2f2a2a'::bytea FROM unnest(cuts) cut);
BEGIN
    PERFORM 1 FROM ~.kept k WHERE k.kind = 0 AND k.name = ANY(above) AND k.due <= now FOR SHARE;
    PERFORM 1 FROM ~.kept k WHERE k.kind = 0 AND k.name >= low AND k.name < high AND k.due <= now
        ORDER BY k.name LIMIT most FOR SHARE;
    RETURN QUERY SELECT NULL::bytea, now, 0::bigint, NULL::bytea;
    RETURN QUERY SELECT k.name, k.write, k.written_at, k.bytes FROM ~.kept k
        WHERE k.kind = 0 AND k.name = ANY(above) AND k.name <> of_name LIMIT most;
    RETURN QUERY SELECT k.name, k.write, k.written_at, k.bytes FROM ~.kept k
        WHERE k.kind = 0 AND k.name >= low AND k.name < high AND k.name <> of_name ORDER BY k.name LIMIT most;
END $$;

CREATE FUNCTION ~.of_holder(holder bytea, most integer)
RETURNS TABLE (name bytea, write bigint, written_at bigint, bytes bytea)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY SELECT NULL::bytea, ~.clock(), 0::bigint, NULL::bytea;
    RETURN QUERY SELECT k.name, k.write, k.written_at, k.bytes FROM ~.kept k
        WHERE k.kind = 0 AND k.holders @> ARRAY[holder] LIMIT most;
END $$;

CREATE FUNCTION ~.scan(of_kind smallint, low bytea, high bytea, after bytea, most integer)
RETURNS TABLE (name bytea, write bigint, written_at bigint, bytes bytea)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY SELECT NULL::bytea, ~.clock(), 0::bigint, NULL::bytea;
    RETURN QUERY SELECT k.name, k.write, k.written_at, k.bytes FROM ~.kept k
        WHERE k.kind = of_kind AND k.name >= low AND k.name < high AND k.name > after ORDER BY k.name LIMIT most;
END $$;

-- Names what was due two seconds ago, each for five seconds to one front only.
CREATE FUNCTION ~.overdue(most integer) RETURNS TABLE (name bytea)
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

-- Forgets what may be forgotten by the time that the front takes it to be, at most so many; nothing while somebody else is
-- at it. How many they were.
CREATE FUNCTION ~.sweep(about bigint, most integer) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
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

}  // namespace holdfast::store::postgres

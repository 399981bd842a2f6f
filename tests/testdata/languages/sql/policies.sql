\set ON_ERROR_STOP on
\ir ../shared/roles.sql

-- Clinics share one database; a row is seen by its own clinic alone.
BEGIN;

CREATE EXTENSION IF NOT EXISTS btree_gist WITH SCHEMA extensions;
CREATE SCHEMA IF NOT EXISTS clinic AUTHORIZATION clinic_owner;
SET search_path TO clinic, public;

CREATE DOMAIN clinic.record_number AS text
  CHECK (VALUE ~ '^[A-Z]{2}-\d{6}$');

CREATE TYPE clinic.visit_state AS ENUM ('booked', 'arrived', 'no show', 'done');
CREATE TYPE clinic.slot AS RANGE (subtype = timestamptz, subtype_diff = slot_diff);
CREATE TYPE clinic.vital AS (systolic int, diastolic int, taken_at timestamptz);

-- Who is treated.
CREATE TABLE clinic.patients (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  clinic_id     int NOT NULL REFERENCES clinic.sites (id) ON DELETE CASCADE,
  record        clinic.record_number UNIQUE,
  born          date CHECK (born > '1900-01-01'),
  vitals        clinic.vital[] DEFAULT '{}'::clinic.vital[], -- newest last
  "fullName"    text COLLATE "de-x-icu",
  price         numeric(10, 2) DEFAULT 0,
  search        tsvector GENERATED ALWAYS AS (to_tsvector('simple', coalesce("fullName", ''))) STORED,
  CONSTRAINT adults_only CHECK (born < now() - interval '18 years'),
  EXCLUDE USING gist (clinic_id WITH =, record WITH =)
) PARTITION BY LIST (clinic_id);

CREATE TABLE clinic.patients_of_1 PARTITION OF clinic.patients FOR VALUES IN (1);
CREATE UNLOGGED TABLE IF NOT EXISTS clinic.import_rows (LIKE clinic.patients INCLUDING DEFAULTS, line text);
CREATE TABLE archived AS SELECT * FROM clinic.patients WHERE born < '1950-01-01';
CREATE FOREIGN TABLE clinic.insurers (id int, name text) SERVER insurers_pg OPTIONS (table_name 'insurers');

CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS patients_search_idx ON clinic.patients USING gin (search);
CREATE INDEX ON clinic.patients (born);

ALTER TABLE clinic.patients ENABLE ROW LEVEL SECURITY;

CREATE POLICY own_clinic ON clinic.patients
  AS PERMISSIVE FOR SELECT TO staff
  USING (clinic_id = current_setting('app.clinic')::int);

CREATE POLICY "only doctors write" ON clinic.patients
  FOR ALL TO doctors
  USING (true) WITH CHECK (clinic.is_doctor(current_user));

-- Whether a login belongs to a doctor.
CREATE OR REPLACE FUNCTION clinic.is_doctor(login name, at timestamptz DEFAULT now())
RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = clinic, pg_temp
AS $$
  SELECT EXISTS (SELECT 1 FROM staff s WHERE s.login = $1 AND s.role = 'doctor');
$$;

CREATE FUNCTION clinic.next_slot(IN site int, OUT starts timestamptz, OUT ends timestamptz)
RETURNS SETOF record LANGUAGE plpgsql AS $body$
DECLARE
  statement text := 'CREATE TABLE not_this_one (a int)';
BEGIN
  FOR starts IN SELECT * FROM free_slots(site) LOOP
    ends := starts + interval '15 minutes';
    RETURN NEXT;
  END LOOP;
  EXECUTE format($q$ CREATE VIEW %I AS SELECT 1 $q$, 'nor_this');
END;
$body$;

CREATE FUNCTION clinic.age(born date) RETURNS int
  LANGUAGE sql IMMUTABLE
  RETURN extract(year FROM age(born))::int;

CREATE FUNCTION clinic.counted() RETURNS bigint
BEGIN ATOMIC
  SELECT count(*) FROM clinic.patients;
END;

CREATE OR REPLACE PROCEDURE clinic.close_day(INOUT closed int, day date DEFAULT current_date)
LANGUAGE plpgsql
AS $$
BEGIN
  UPDATE visits SET state = 'done' WHERE visited = day;
  GET DIAGNOSTICS closed = ROW_COUNT;
  COMMIT;
END $$;

CREATE FUNCTION clinic.touch() RETURNS trigger LANGUAGE plpgsql AS
'BEGIN NEW.changed := now(); RETURN NEW; END';

CREATE CONSTRAINT TRIGGER patients_touch
  AFTER INSERT OR UPDATE OF record ON clinic.patients
  DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (NEW.record IS NOT NULL)
  EXECUTE FUNCTION clinic.touch();

CREATE EVENT TRIGGER no_drops ON sql_drop EXECUTE FUNCTION clinic.refuse();
CREATE RULE patients_ro AS ON DELETE TO clinic.patients DO INSTEAD NOTHING;
CREATE OPERATOR === (LEFTARG = text, RIGHTARG = text, FUNCTION = texteq);
CREATE CAST (text AS clinic.vital) WITH FUNCTION clinic.parse_vital(text);

CREATE AGGREGATE clinic.median(double precision) (
  SFUNC = array_append, STYPE = double precision[], INITCOND = '{}'
);

/* Every visit with its patient. */
CREATE MATERIALIZED VIEW IF NOT EXISTS clinic.visit_overview (patient, visits) AS
  WITH latest AS (SELECT DISTINCT ON (patient_id) * FROM visits)
  SELECT p.id, count(*) FROM clinic.patients p JOIN latest USING (id) GROUP BY 1
WITH NO DATA;

CREATE OR REPLACE RECURSIVE VIEW referrals (id, via) AS
  SELECT 1, 2 UNION ALL SELECT id + 1, via FROM referrals;

CREATE SEQUENCE IF NOT EXISTS clinic.invoice_seq AS bigint START 1000 OWNED BY clinic.patients.id;
CREATE ROLE auditor NOLOGIN;
CREATE PUBLICATION changes FOR TABLE clinic.patients;
CREATE STATISTICS clinic.born_record (dependencies) ON born, record FROM clinic.patients;

DO $$ BEGIN CREATE TABLE inside_do (a int); END $$;
COMMENT ON TABLE clinic.patients IS 'CREATE TABLE said_in_a_comment (x int);';
COMMIT;

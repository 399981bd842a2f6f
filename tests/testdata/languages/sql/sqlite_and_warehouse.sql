PRAGMA foreign_keys = ON;
.read ../common/functions.sql

-- Notes that a choir keeps.
CREATE TABLE IF NOT EXISTS pieces (
  piece_id INTEGER PRIMARY KEY AUTOINCREMENT,
  title TEXT NOT NULL DEFAULT 'CREATE TABLE no (a)' COLLATE NOCASE,
  voices INTEGER CHECK (voices BETWEEN 1 AND 40),
  [key] TEXT,                     -- e.g. D minor
  `composer` TEXT REFERENCES composers ON DELETE SET NULL,
  length REAL GENERATED ALWAYS AS (bars * 4.0 / tempo) VIRTUAL,
  PRIMARY KEY (piece_id, title),
  FOREIGN KEY (composer) REFERENCES composers(name)
) STRICT, WITHOUT ROWID;

CREATE TEMP TABLE rehearsal AS SELECT * FROM pieces LIMIT 3;
CREATE VIRTUAL TABLE pieces_fts USING fts5(title, composer, content='pieces');

CREATE TRIGGER IF NOT EXISTS pieces_ai AFTER INSERT ON pieces
WHEN new.voices > 8
BEGIN
  INSERT INTO pieces_fts(rowid, title) VALUES (new.piece_id, new.title);
  UPDATE counts SET n = CASE WHEN n IS NULL THEN 1 ELSE n + 1 END;
END;

CREATE VIEW big AS SELECT title FROM pieces WHERE voices > 8;
CREATE UNIQUE INDEX by_title ON pieces (title COLLATE NOCASE) WHERE voices IS NOT NULL;

-- What a warehouse has.
CREATE OR REPLACE TRANSIENT TABLE analytics.public.concerts (
  held_on DATE,
  tickets NUMBER(10, 0) COMMENT 'sold',
  programme VARIANT,
  TAGS ARRAY<STRUCT<name STRING, weight FLOAT64>>
) CLUSTER BY (held_on);
CREATE OR REPLACE FUNCTION analytics.applause(seconds FLOAT)
  RETURNS FLOAT
  LANGUAGE JAVASCRIPT
  AS $$ function create() { return SECONDS * 2; } $$;
CREATE OR REPLACE PROCEDURE load_concerts(day DATE)
RETURNS STRING
LANGUAGE SQL
EXECUTE AS CALLER
AS
BEGIN
  LET n := 0;
  IF (n = 0) THEN
    INSERT INTO concerts SELECT :day, 0, NULL, NULL;
  END IF;
  RETURN 'CREATE VIEW none';
END;
CREATE STREAM concert_changes ON TABLE concerts;
CREATE MATERIALIZED VIEW `proj.set.by_year` PARTITION BY y AS SELECT 1 AS y;
CREATE DYNAMIC TABLE sold TARGET_LAG = '1 minute' WAREHOUSE = w AS SELECT sum(tickets) FROM concerts;
CREATE ROW ACCESS POLICY own_choir AS (choir STRING) RETURNS BOOLEAN -> current_role() = choir;
CREATE MASKING POLICY hide AS (v STRING) RETURNS STRING -> '***';
CREATE EXTERNAL TABLE logs (line STRING) STORED AS PARQUET LOCATION 's3://bucket/x';

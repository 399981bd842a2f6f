\set ON_ERROR_STOP on
\echo 'it''s a script'
\i types/money.sql
\ir ../seed.sql

-- The shop's own schema.
CREATE SCHEMA IF NOT EXISTS shop;
CREATE SCHEMA AUTHORIZATION clerk;
CREATE EXTENSION IF NOT EXISTS pgcrypto SCHEMA public;

CREATE TYPE shop.state AS ENUM ('open', 'paid', 'on the way');
CREATE TYPE shop.point AS (x int, y int);
CREATE DOMAIN shop.email AS text CHECK (VALUE ~ '@');

/* Everybody who has ordered.
   More than a line. */
CREATE TABLE IF NOT EXISTS shop.customer (
    id bigserial PRIMARY KEY, -- never reused
    -- As they write it.
    name varchar(80) NOT NULL DEFAULT 'a; b',
    "Home Town" text,
    price numeric(10, 2)
        CHECK (price > 0),
    key text,
    tags text[] DEFAULT '{}',
    CONSTRAINT customer_name_key UNIQUE (name),
    FOREIGN KEY (id) REFERENCES shop.person (id) ON DELETE CASCADE
) PARTITION BY RANGE (id);

create temp table recent as select * from shop.customer;
CREATE UNIQUE INDEX CONCURRENTLY customer_name_idx ON shop.customer (lower(name));
CREATE INDEX ON shop.customer (price);
CREATE SEQUENCE shop.order_number START 100;

CREATE OR REPLACE VIEW shop.active AS
SELECT * FROM shop.customer
WHERE price > 1;

CREATE MATERIALIZED VIEW totals AS SELECT sum(price) FROM shop.customer;

-- Adds two numbers.
CREATE OR REPLACE FUNCTION shop.add(a int, b int DEFAULT 0)
RETURNS int
SET search_path = shop
AS $body$
DECLARE
  total int;
BEGIN
  CREATE TABLE inside (x int);
  RETURN a + b;
END;
$body$ LANGUAGE plpgsql;

CREATE FUNCTION sign_of(n int) RETURNS text
BEGIN ATOMIC
  SELECT CASE WHEN n > 0 THEN '+' ELSE '-' END;
END;

CREATE PROCEDURE tidy() LANGUAGE SQL AS 'DELETE FROM shop.customer; ';
CREATE AGGREGATE total(int) (SFUNC = int4pl, STYPE = int);
CREATE TRIGGER customer_audit AFTER UPDATE ON shop.customer
    REFERENCING NEW TABLE AS fresh
    FOR EACH STATEMENT EXECUTE FUNCTION audit();

CREATE ROLE reader;
CREATE OPERATOR + (PROCEDURE = add);
DO $$ BEGIN CREATE TABLE not_here (a int); END $$;
INSERT INTO note VALUES ('
CREATE TABLE not_this_either (a int);
');
COPY shop.customer (id, name) FROM stdin;
1	CREATE TABLE nor_this (a int);
\.

CREATE TRIGGER lite_style AFTER INSERT ON shop.customer
BEGIN
  UPDATE counters SET n = n + 1;
END;
CREATE TABLE afterwards (id int)

-- Customers see their own orders.
CREATE POLICY own_orders ON shop.orders
    AS PERMISSIVE FOR SELECT TO customer
    USING (customer_id = current_setting('shop.customer')::bigint);

create policy "staff only" on shop.customers using (is_staff());

"""Reports whose queries are marked for editors."""

from textwrap import dedent

# language=SQL
CREATE_TOTALS = """
    CREATE TABLE daily_totals (
        day DATE PRIMARY KEY,
        amount NUMERIC NOT NULL
    );
    CREATE INDEX daily_totals_day ON daily_totals (day);
"""

REFRESH = """--sql
    CREATE OR REPLACE FUNCTION refresh_totals() RETURNS void AS $$
    BEGIN
        DELETE FROM daily_totals;
    END
    $$ LANGUAGE plpgsql;
"""

SELECT_TOTALS = """-- sql
    SELECT created FROM daily_totals
"""

SCHEMA = """#graphql
    type DailyTotal {
        day: Date!
        amount: Float
    }

    query Totals { totals { day } }
"""

PAGE = dedent(
    # language=HTML
    """
    <h1>Totals</h1>
    <table id="totals"></table>
    """
)

UNMARKED = """
    CREATE TABLE not_read (id INTEGER);
"""


class TotalsReport:
    """Shows the totals of days."""

    # language=SQL
    view = '''CREATE VIEW weekly_totals AS SELECT * FROM daily_totals'''

    def run(self, connection):
        return connection.execute(SELECT_TOTALS).fetchall()

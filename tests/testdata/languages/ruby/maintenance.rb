# Jobs that speak SQL and GraphQL.
module Maintenance
  CREATE_ARCHIVE = <<~SQL
    CREATE TABLE archived_orders (
      id BIGINT PRIMARY KEY,
      number TEXT NOT NULL
    );

    CREATE TRIGGER archive_orders AFTER DELETE ON orders
    FOR EACH ROW EXECUTE FUNCTION archive();
  SQL

  class ArchiveJob
    QUERY = <<-'GRAPHQL'.freeze
      query OldOrders($before: Date!) {
        orders(before: $before) { id }
      }

      fragment OrderNumber on Order { number }
    GRAPHQL

    def perform(connection)
      connection.execute(CREATE_ARCHIVE)
      connection.execute(<<~SQL, "Archive #{name}")
        CREATE VIEW archive_sizes AS
        SELECT count(*) FROM archived_orders WHERE number > #{limit}
      SQL
      connection.execute(<<~TEXT)
        CREATE TABLE not_read (id BIGINT);
      TEXT
    end

    private

    def limit = 10
  end
end

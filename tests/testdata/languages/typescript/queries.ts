import { gql } from '@apollo/client';
import styled, { createGlobalStyle, keyframes } from 'styled-components';
import { html, css, LitElement } from 'lit';
import { sql } from './database';

export const ORDER_LINES = gql`
  fragment OrderLines on Order {
    lines {
      id
      total
    }
  }
`;

export const GET_ORDERS = gql`
  # The orders of a customer.
  query GetOrders($customer: ID!, $first: Int = 20) {
    orders(customer: $customer, first: $first) {
      id
      ...OrderLines
    }
  }
  ${ORDER_LINES}
`;

const PAY_ORDER = /* GraphQL */ `
  mutation PayOrder($id: ID!) {
    payOrder(id: $id) { id }
  }

  subscription OrderPaid { orderPaid { id } }
`;

export const typeDefs = gql`
  enum OrderStatus { OPEN PAID }

  type Order {
    id: ID!
    status: OrderStatus!
  }
`;

const Panel = styled.section<{ wide?: boolean }>`
  --panel-gap: 8px;
  padding: ${(props) => (props.wide ? '2rem' : '1rem')};

  &:hover .panel-title {
    color: ${accent};
  }
`;

const Link = styled(Anchor)`
  .link-icon { width: 1em; }
`;

const fade = keyframes`
  from { opacity: 0; }
`;

export const Reset = createGlobalStyle`
  .app-root { margin: 0; }
`;

export async function createTables(database: Database): Promise<void> {
  await database.run(sql`
    CREATE TABLE order_events (
      id INTEGER PRIMARY KEY,
      kind TEXT NOT NULL
    )
  `);
  await database.run(sql<OrderRow>`SELECT created_at FROM not_defined`);
  // language=SQL
  const view = 'CREATE VIEW open_orders AS SELECT * FROM orders';
  await database.run(view);
}

export class OrderCard extends LitElement {
  static styles = css`
    .order-card { display: grid; }
  `;

  render() {
    return html`
      <section id="order-card">
        <h2>Your order</h2>
        ${this.lines.map((line) => html`<p id="line">${line.title}</p>`)}
      </section>
    `;
  }
}

const text = 'gql`type NotRead { id: ID }';
const plain = String.raw`type NotReadEither { id: ID }`;

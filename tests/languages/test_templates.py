"""The code in templates is code of its language: what it uses, at the lines of the template."""

import pytest

from codecompass.languages import described
from codecompass.languages.uses.occurrences import occurrences
from codecompass.worker.parsing import interrupting_limit

CPU_SECONDS = 3

ERB = r"""<%# The list of orders; <%= ignored %> is within a comment. %>
<% content_for :title, t(".title") %>
<h1 class="page-title"><%= t(".heading", count: @orders.size) %></h1>

<% if can?(:create, Order) -%>
  <%= link_to "New order", new_order_path, class: "button" %>
<% end -%>

<%= form_with url: orders_path, method: :get do |form| %>
  <%= form.label :status %>
  <%= form.select :status, Order.statuses.keys, { include_blank: true }, data: { turbo: false } %>
  <%= form.submit "Filter" %>
<% end %>

<table id="orders">
  <% @orders.each do |order| %>
    <tr class="<%= order_class(order) %>" data-id="<%= order.id %>">
      <td><%= order.number %></td>
      <td><%== money(order.total) %></td>
      <td>100 %> of nothing, <%% no code %></td>
      <td>
        <% case order.status when "paid" %>
          <%= render "orders/receipt", order: order %>
        <% else %>
          <%= button_to "Pay", pay_order_path(order) %>
        <% end %>
      </td>
    </tr>
  <% end %>
</table>

<%
  totals = Totals.new(@orders)
  def shipping_note(order)
    order.express? ? "express" : "standard"
  end
%>
<p><%= totals.sum %> / <%= shipping_note(@orders.first) %></p>
<%= yield :footer
"""

EJS = r"""<%- include('partials/head', { title: 'Orders' }) %>
<%# A comment: hidden() %>
<h1><%= heading(user) %></h1>
<% if (orders.length > 0) { %>
  <ul id="orders">
    <% orders.forEach(function (order) { %>
      <li class="<%= classFor(order) %>">
        <a href="/orders/<%= order.id %>"><%= formatPrice(order.total) -%></a>
        <% if (isOpen(order)) { %> <button>Pay</button> <% } else { %> paid <% } %>
      </li>
    <% }); %>
  </ul>
<% } else { -%>
  <p>Nothing yet, 50 %> done, <%% not code %>.</p>
<%_ } _%>
<%
  function shippingNote(order) {
    return order.express ? 'express' : 'standard';
  }
  const note = shippingNote(orders[0]);
%>
<p><%= note %></p>
<script>
  track('<%= analyticsId() %>');
</script>
<%- include('partials/foot') %>
"""

EEX = r"""<%!-- A comment: hidden() --%>
<.header class="page-title">
  {gettext("Orders")}
  <:actions>
    <.link navigate={~p"/orders/new"}>New</.link>
  </:actions>
</.header>

<%= if Orders.any?(@orders) do %>
  <table id="orders">
    <%= for order <- @orders do %>
      <tr class={row_class(order)} phx-click={JS.push("show")}>
        <td><%= order.number %></td>
        <td><%= Money.to_string(order.total) %></td>
        <td>{format_date(order.inserted_at)}</td>
      </tr>
    <% end %>
  </table>
<% else %>
  <p>Nothing yet, 50 %> done.</p>
<% end %>

<%= live_render(@socket, ShopWeb.CartLive, id: "cart") %>
"""


def region_of(language, text):
    return next(iter(described(language).regions.in_text(text)))


def calls(language, text):
    region = region_of(language, text)
    assert [len(line) for line in region.code.split("\n")] == [len(line) for line in text.split("\n")]
    found = occurrences(region.language, region.code, ())
    return {f"{use.line} {each.name} {use.receiver}".strip() for each in found for use in each.uses}


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        (
            "erb",
            ERB,
            "2 content_for|3 t|5 can?|6 new_order_path|9 orders_path|11 statuses Order|17 order_class|19 money|25 pay_order_path"
            "|33 new Totals|34 shipping_note",
        ),
        ("ejs", EJS, "1 include|3 heading|6 forEach orders|7 classFor|8 formatPrice|9 isOpen|20 shippingNote|24 analyticsId"),
        (
            "eex",
            EEX,
            "2 header|3 gettext|5 link|9 any? Orders|12 row_class|12 push JS|14 to_string Money|15 format_date"
            "|23 CartLive ShopWeb",
        ),
    ],
    ids=["erb", "ejs", "eex"],
)
def test_a_template_uses_what_its_code_uses(language, text, expected):
    found = calls(language, text)

    assert sorted(set(expected.split("|")) - found) == []
    assert not {each.split()[1] for each in found} & {"hidden", "ignored", "nothing", "class", "done", "code"}


@pytest.mark.parametrize("language", ["erb", "ejs", "eex"])
@pytest.mark.parametrize("unit", ["<%", "<%= ", "%>", "{", " {a", "<%# ", "<.a", "<A.b", "=%>\n"])
def test_a_hostile_template_takes_bounded_time(language, unit):
    with interrupting_limit(CPU_SECONDS):
        region_of(language, unit * (200_000 // len(unit)))
        region_of(language, unit * (200_000 // len(unit)) + "%>")


@pytest.mark.parametrize(("language", "text"), [("erb", ERB), ("ejs", EJS), ("eex", EEX)], ids=["erb", "ejs", "eex"])
def test_a_template_that_is_cut_off_keeps_its_lines(language, text):
    for end in range(0, len(text), 7):
        assert region_of(language, text[:end]).code.count("\n") == text[:end].count("\n")

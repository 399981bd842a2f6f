"""A request in a question leads to the route that serves it, and to its handler."""

import pytest

from codecompass.query.names.named_routes import routes_asked
from codecompass.store.text_queries import Filter

FILES = {
    "config/routes.rb": (
        "Shop.routes.draw do\n  resources :orders, only: [:create, :show] do\n    get :recent, on: :collection\n  end\n"
        "  root to: 'pages#home'\nend\n"
    ),
    "app/controllers/orders_controller.rb": (
        "class OrdersController\n  def create\n  end\n\n  def show\n  end\n\n  def recent\n  end\nend\n"
    ),
    "web/app.js": "const app = express();\napp.all('/hook', hook);\nfunction hook() {}\n",
}


@pytest.fixture(scope="module")
def project(index_of):
    return index_of(FILES)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("which handler serves POST /orders?", ["POST /orders", "create"]),
        ("GET /orders/17", ["GET /orders/:id", "show"]),
        ("GET `/orders/{id}`", ["GET /orders/:id", "show"]),
        ("GET /orders/recent", ["GET /orders/recent", "recent", "GET /orders/:id", "show"]),
        ("who answers GET /api/v1/orders/17", ["GET /orders/:id", "show"]),
        ("GET /", ["GET /"]),
        ("PUT /hook", ["/hook", "hook"]),
        ("DELETE /orders", []),
        ("GET what is asked", []),
        ("the path /orders", []),
    ],
)
def test_a_request_leads_to_its_route_and_to_what_serves_it(project, text, names):
    assert [row.name for row in routes_asked(project, text, Filter())] == names

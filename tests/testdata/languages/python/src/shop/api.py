"""The interface of the shop for programs.

    @app.get("/documented")
    def documented(): ...
"""

from fastapi import APIRouter, Depends, FastAPI
from flask import Blueprint, Flask

app = FastAPI(title="shop")
router = APIRouter(prefix="/orders", tags=["orders"], dependencies=[Depends(verify)])
admin = Blueprint("admin", __name__, url_prefix="/admin")
site = Flask(__name__)


@app.get("/health")
async def health() -> dict[str, str]:
    return {"status": "ok"}


@router.post("", status_code=201)
async def create_order(order: OrderIn) -> Order:
    """Creates an order."""
    return await orders.add(order)


@router.get("/{order_id}", response_model=Order)
@cached(seconds=5)
async def read_order(order_id: int):
    return await orders.find(order_id)


@router.delete(
    path="/{order_id}",
    status_code=204,
)
async def delete_order(order_id: int):
    await orders.remove(order_id)


@app.websocket("/events")
async def events(socket: WebSocket): ...


@admin.route("/users", methods=["GET", "POST"])
@login_required
def users():
    return render_template("users.html")


@site.route("/")
@site.route("/index")
def index():
    # @site.route("/disabled")
    return render_template("index.html")


@app.api_route("/hook", methods=["PUT"])
def hook():
    @retry.get("never")
    def inner(): ...

    return inner()


@mock.patch("shop.api.orders")
def test_orders(orders): ...


@responses.get("https://example.com/x")
def fetched(): ...


def make(prefix):
    routes = APIRouter()

    @routes.put("/nested/{item}")
    def put_nested(item: str):
        return item

    return routes


class Views:
    @app.post("/in-class")
    def posted(self):
        return None

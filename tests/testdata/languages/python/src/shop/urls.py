"""Addresses of the shop."""

from django.urls import include, path, re_path
from rest_framework import routers

from shop import views
from shop.views import InvoiceList

router = routers.DefaultRouter()
router.register(r"customers", views.CustomerViewSet, basename="customer")
router.register("suppliers", views.SupplierViewSet)

app_name = "shop"

order_patterns = [
    path("", views.order_list, name="orders"),
    path("<int:pk>/", views.order_detail, name="order"),
    path(
        "<int:pk>/cancel/",
        views.cancel_order,
        name="cancel",
    ),
]

urlpatterns = [
    path("orders/", include(order_patterns)),
    path("invoices/", InvoiceList.as_view(), name="invoices"),
    # path("old/", views.old),
    re_path(r"^archive/(?P<year>[0-9]{4})/$", views.archive),
    path("api/", include("shop.api.urls")),
    path("", include(router.urls)),
]

# Paths that are none: no view, no address, and one in a text.
logo = path("static", name="logo")
observers.register(listener)
example = 'path("orders/", views.order_list)'

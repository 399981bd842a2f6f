"""Elixir: module names as paths with underscores."""

import pytest

from codecompass.languages.beam.elixir_imports import underscore
from tests.support.imports import repository, target

APPLICATION = repository(
    """
    lib/my_app/accounts/user.ex lib/my_app/accounts.ex lib/my_app/http_client.ex lib/my_app_web/controllers/page_controller.ex
    lib/mix/tasks/my_app.gen.ex lib/mix/tasks/my_app.ex lib/my_app/test/conn_test.ex lib/my_app.ex
    test/my_app/accounts_test.exs test/my_app/conn_test.exs test/support/data_case.ex apps/billing/lib/billing/invoice.ex
    """
)
TEST = "test/my_app/accounts_test.exs"


@pytest.mark.parametrize(
    ("spec", "name", "expected"),
    [
        ("MyApp.Accounts.User", "", "lib/my_app/accounts/user.ex"),
        ("MyApp.Accounts", "User", "lib/my_app/accounts/user.ex"),
        ("MyApp.Accounts", "*", "lib/my_app/accounts.ex"),
        ("MyApp.Accounts", "get_user", "lib/my_app/accounts.ex"),
        ("MyApp.Accounts.Token", "", "lib/my_app/accounts.ex"),
        ("MyApp.HTTPClient", "", "lib/my_app/http_client.ex"),
        ("MyAppWeb.PageController", "", "lib/my_app_web/controllers/page_controller.ex"),
        ("Mix.Tasks.MyApp.Gen", "", "lib/mix/tasks/my_app.gen.ex"),
        ("MyApp.ConnTest", "", "lib/my_app/test/conn_test.ex"),
        ("MyApp.DataCase", "", "test/support/data_case.ex"),
        ("Billing.Invoice", "", "apps/billing/lib/billing/invoice.ex"),
        ("MyApp", "", "lib/my_app.ex"),
        ("MyApp.Error", "", ""),
        ("Other.Accounts.User", "", ""),
        ("Ecto.Schema", "", ""),
        ("User", "", ""),
    ],
)
def test_a_module_is_in_the_file_that_its_name_spells(spec, name, expected):
    assert target(APPLICATION, TEST, spec, name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("MyApp", "my_app"), ("HTTPClient", "http_client"), ("OTP", "otp"), ("Cowboy2Adapter", "cowboy2_adapter"), ("V2", "v2")],
)
def test_a_module_name_becomes_a_file_name(name, expected):
    assert underscore(name) == expected

"""Groups are called as identity providers call them."""

import pytest

from codecompass.cluster.repositories.repository import MAX_GROUP_LENGTH, MAX_GROUPS, checked_groups
from codecompass.errors import InvalidInput


@pytest.mark.parametrize(
    "name", ["web", "Team_Backend", "/eng/platform", "Domain Users", "cn=dev:read", "Größe (EU)", "a" * MAX_GROUP_LENGTH]
)
def test_a_name_of_an_identity_provider_is_a_group(name):
    assert checked_groups([name, name]) == (name,)


@pytest.mark.parametrize("name", ["", " web", "web ", "a,b", "*", "-web", "a\nb", "a\x00", "a" * (MAX_GROUP_LENGTH + 1)])
def test_what_could_not_be_named_in_a_header_or_a_list_is_no_group(name):
    with pytest.raises(InvalidInput, match="identity provider"):
        checked_groups([name])


def test_the_number_of_groups_is_bounded():
    with pytest.raises(InvalidInput, match="at most"):
        checked_groups([f"g{number}" for number in range(MAX_GROUPS + 1)])

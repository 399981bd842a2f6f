"""Ruby: the load path by convention."""

import pytest

from tests.support.imports import repository, target

GEMS = repository(
    """
    Rakefile lib/shop.rb lib/shop/cart.rb lib/shop/tasks.rake spec/spec_helper.rb spec/models/cart_spec.rb test/helper.rb
    plugins/pay/lib/pay/card.rb plugins/pay/test/card_test.rb json.rb tools/set.rb
    """
)


@pytest.mark.parametrize(
    ("from_path", "spec", "kind", "expected"),
    [
        ("lib/shop.rb", "shop/cart", "module", "lib/shop/cart.rb"),
        ("spec/models/cart_spec.rb", "shop", "module", "lib/shop.rb"),
        ("spec/models/cart_spec.rb", "spec_helper", "module", "spec/spec_helper.rb"),
        ("spec/models/cart_spec.rb", "pay/card", "module", "plugins/pay/lib/pay/card.rb"),
        ("plugins/pay/test/card_test.rb", "pay/card", "module", "plugins/pay/lib/pay/card.rb"),
        ("lib/shop/cart.rb", "../shop", "relative", "lib/shop.rb"),
        ("lib/shop/cart.rb", "./tasks.rake", "relative", "lib/shop/tasks.rake"),
        ("lib/shop/cart.rb", "cart", "relative", "lib/shop/cart.rb"),
        ("lib/shop/cart.rb", "shop", "relative", ""),
        ("lib/shop/cart.rb", "set", "module", ""),
        ("lib/shop/cart.rb", "card", "module", ""),
        ("lib/shop/cart.rb", "../../../../etc/hosts", "relative", ""),
    ],
)
def test_a_required_file_is_where_the_load_path_has_it(from_path, spec, kind, expected):
    assert target(GEMS, from_path, spec, kind=kind) == expected

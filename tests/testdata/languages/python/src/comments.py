"""Comments among the lines of a head are no part of it."""


class Basket(Base):  # what a customer has taken so far
    limit = 10  # pieces
    colours = {  # by name
        "red": "#f00",  # like the logo
    }

    def __init__(
        self,
        owner,  # who pays
        colour="#fff",
    ) -> None:  # noqa: D107
        self.owner = owner  # not the name

    def total(self):  # in cents
        """Adds up."""


def parse(text, marker="#"):  # type: (str, str) -> list
    return text.split(marker)


async def close():  # nothing to wait for
    """Closes."""

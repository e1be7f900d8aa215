"""Prices, in cents."""

BULK_FROM = 10
BULK_PERCENT = 10


def line_total(unit_cents, pieces):
    """The price of some pieces of one article."""
    total = unit_cents * pieces
    if pieces > BULK_FROM:
        total -= total * BULK_PERCENT // 100
    return total


def order_total(lines):
    """The price of an order: pairs of unit price and pieces."""
    return sum(line_total(unit_cents, pieces) for unit_cents, pieces in lines)

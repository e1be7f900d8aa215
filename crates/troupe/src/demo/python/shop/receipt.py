"""Receipts as text."""

from shop.price import line_total, order_total


def receipt(lines):
    """One row an article, then the sum."""
    rows = [f"{pieces:>4} x {name:<12} {line_total(cents, pieces) / 100:>9.2f}" for name, cents, pieces in lines]
    total = order_total([(cents, pieces) for _, cents, pieces in lines])
    return "\n".join([*rows, f"{'total':<19} {total / 100:>9.2f}"])

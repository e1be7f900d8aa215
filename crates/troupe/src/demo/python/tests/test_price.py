import unittest

from shop.price import line_total, order_total
from shop.receipt import receipt


class Prices(unittest.TestCase):
    def test_few_pieces_cost_their_price(self):
        self.assertEqual(line_total(250, 9), 2250)

    def test_ten_pieces_are_bulk(self):
        self.assertEqual(line_total(250, 10), 2250)

    def test_many_pieces_are_bulk(self):
        self.assertEqual(line_total(250, 20), 4500)

    def test_an_order_is_the_sum_of_its_lines(self):
        self.assertEqual(order_total([(250, 1), (100, 20)]), 2050)

    def test_a_receipt_ends_with_the_sum(self):
        self.assertTrue(receipt([("tea", 250, 2)]).endswith("5.00"))


if __name__ == "__main__":
    unittest.main()

import unittest
from decimal import Decimal

from shop.payment import Payment, validate_payment


def payment(merchant_id="m-1001", amount="19.90", currency="CHF"):
    return Payment(merchant_id=merchant_id, amount=Decimal(amount), currency=currency)


class ValidatePaymentTest(unittest.TestCase):
    def test_an_ordinary_payment_is_valid(self):
        self.assertTrue(validate_payment(payment()).valid)

    def test_an_amount_of_zero_is_refused(self):
        verdict = validate_payment(payment(amount="0"))

        self.assertEqual(verdict.problems, ("the amount must be above zero",))

    def test_an_unknown_currency_is_refused(self):
        verdict = validate_payment(payment(currency="XXX"))

        self.assertEqual(verdict.problems, ("the currency XXX is not accepted",))

    def test_a_payment_without_a_merchant_is_refused(self):
        verdict = validate_payment(payment(merchant_id=" "))

        self.assertEqual(verdict.problems, ("the merchant id is missing",))


if __name__ == "__main__":
    unittest.main()

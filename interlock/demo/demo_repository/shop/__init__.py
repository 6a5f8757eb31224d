"""A shop that takes payments for several merchants."""

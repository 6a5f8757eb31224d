"""What fits into the window: five levels from light to heavy, and what they measure with."""

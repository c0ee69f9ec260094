"""Twenty rounds of tests/torture.py; `make torture` runs two hundred."""
import os
import unittest

import torture


class Tortured(unittest.TestCase):
    def test_nothing_that_was_answered_is_lost_or_changed_by_twenty_crashes(self):
        print(torture.torture(rounds=20, seed=int(os.environ.get("TREATY_SEED", "4"))))


if __name__ == "__main__":
    unittest.main()

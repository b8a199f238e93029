"""Values of ``search`` that are words. Apart from the search, so that a report need not import torch for them."""

TUNED = "tuned"
"""The value of ``search.length_penalty`` that leaves it to be chosen on the validation set, after training."""
EXACT, FIRST = "exact", "first"
"""The values of ``search.stop``."""

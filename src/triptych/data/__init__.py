"""Text, tokenizers and batches."""

import warnings

# SentencePiece's types warn while they are imported. Where warnings are errors, that ends the process without a word.
warnings.filterwarnings("ignore", r"builtin type .* has no __module__ attribute", DeprecationWarning)

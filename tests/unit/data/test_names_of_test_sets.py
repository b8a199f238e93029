"""Names of test sets: each once, and none that is the name of another's files."""

from __future__ import annotations

import pytest

from triptych.data.text_reader import test_sets as named_test_sets
from triptych.errors import UserError


@pytest.mark.parametrize("other", ["test.ref", "test.src", "test.nats"])
def test_a_set_whose_files_would_replace_anothers_is_refused(other: str) -> None:
    """References were overwritten by translations."""
    with pytest.raises(UserError, match=f"'{other}' is the name of a file that is kept of 'test'"):
        named_test_sets(["a/test", f"a/{other}"])


def test_other_endings_are_names() -> None:
    assert [*named_test_sets(["a/test", "a/test.x", "b/ref"])] == ["test", "test.x", "ref"]


def test_a_name_begins_with_a_letter_or_a_digit() -> None:
    """Results of others could be written, and not be read."""
    assert [*named_test_sets(["+dev", ".hidden", "(2019)", "a/--"])] == ["dev", "hidden", "2019)", "test"]

"""What an assignment names by SHA-256: names and hashes that lead nowhere else."""

from __future__ import annotations

import pytest

from codefy_protocol import inputs
from codefy_protocol.frames import NodeSource

A = "a" * 64


@pytest.mark.parametrize("text", ["", "a" * 63, "A" * 64, f"{A}\n", "../" + "a" * 61, "g" * 64])
def test_a_hash_is_64_hexadecimal_digits(text: str) -> None:
    assert inputs.is_sha256(A)
    assert not inputs.is_sha256(text)


@pytest.mark.parametrize(
    "name", ["../x.py", "a/b.py", "a\\b.py", ".py", ".hidden.py", "x.txt", "x.py\n", "\0.py", ""]
)
def test_a_node_file_has_a_name_and_no_path(name: str) -> None:
    assert inputs.legal_node_file("my filters (2).py")
    assert not inputs.legal_node_file(name)


def test_the_digest_of_the_files_does_not_depend_on_their_order() -> None:
    first = NodeSource(name="a.py", sha256=A, size=1)
    second = NodeSource(name="b.py", sha256="b" * 64, size=1)
    assert inputs.node_source_digest([first, second]) == inputs.node_source_digest([second, first])
    assert inputs.node_source_digest([first]) != inputs.node_source_digest([second])
    assert inputs.node_source_digest([]) == ""

"""Keys and tokens are told apart by their beginning, and cannot be guessed."""

import math

import pytest

from svc.auth.keys import Kind, digest, generate, kind_of, visible_prefix

PREFIXES = {Kind.KEY: "svc_", Kind.EPHEMERAL: "svc_tmp_", Kind.SINGLE_USE: "svc_once_"}


@pytest.mark.parametrize("kind", Kind)
def test_kinds_are_recognised(kind: Kind) -> None:
    for credential in {generate(kind) for _ in range(200)}:
        assert credential.startswith(PREFIXES[kind])
        assert kind_of(credential) is kind


@pytest.mark.parametrize("kind", Kind)
def test_what_is_shown_leaves_more_than_192_bits(kind: Kind) -> None:
    credential = generate(kind)
    shown = visible_prefix(credential)
    assert credential.startswith(shown)
    assert len(shown) == len(PREFIXES[kind]) + 8
    assert (len(credential) - len(shown)) * math.log2(62) > 192


def test_no_two_are_alike() -> None:
    assert len({generate(Kind.KEY) for _ in range(1000)}) == 1000


@pytest.mark.parametrize(
    "credential",
    [
        "",
        "svc_",
        "svc_tmp_",
        "hello",
        generate(Kind.KEY)[:-1],
        generate(Kind.KEY) + "a",
        "svc_" + "é" * 43,
        "x" * 47,
        "svc_" + "_" * 43,
        generate(Kind.KEY).upper(),
    ],
)
def test_what_this_service_cannot_have_made(credential: str) -> None:
    assert kind_of(credential) is None


def test_every_string_has_a_digest() -> None:
    assert len({digest(each) for each in ("", "a", "é", "\ud800", "\udfff", "\0")}) == 6

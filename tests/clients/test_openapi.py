"""Schemathesis over the service's own OpenAPI document: no request breaks the service, and answers fit the document."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from svc.app import create_app
from svc.engine.fake import FakeEngine
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from tests.clients.conftest import serving, wait_until_ready

CHECKED = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]

# What there is to say of a service without the keys table: it makes no tokens, and 501 is how it says so.
_BY_DESIGN = {"/v1/tokens/ephemeral", "/v1/single-use-token/{token_type}"}


@pytest.fixture(scope="module")
def address(phonemizer: Phonemizer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    settings = Settings(data_dir=tmp_path_factory.mktemp("data"), cache_dir=tmp_path_factory.mktemp("cache"))
    with serving(create_app(settings, Pipeline(FakeEngine(), phonemizer))) as address:
        wait_until_ready(address)
        yield address


def test_keeps_its_word(address: str, subtests: pytest.Subtests) -> None:
    schema = schemathesis.openapi.from_url(f"{address}/openapi.json")
    operations = [operation.ok() for operation in schema.get_all_operations() if isinstance(operation, Ok)]
    assert len(operations) >= 20
    for operation in operations:

        @settings(
            max_examples=15,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def keeps_its_word(case: Case[Any]) -> None:
            response = case.call()
            if response.status_code != 501 or case.operation.path not in _BY_DESIGN:
                case.validate_response(response, checks=CHECKED)

        with subtests.test(operation.label):
            keeps_its_word()

"""The broker that all tests of this room share."""

from collections.abc import Iterator

import pytest

from tests.support.kafka import Broker


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """It starts for seconds, so once; each test has topics of its own."""
    broker = Broker(tmp_path_factory.mktemp("broker"))
    try:
        yield broker
    finally:
        broker.kill()

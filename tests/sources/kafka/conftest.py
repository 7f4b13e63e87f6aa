"""The broker that all tests of this room share, and the library that they need."""

from collections.abc import Iterator

import pytest

from tests.support.kafka import Broker


@pytest.fixture(scope="session", autouse=True)
def _library() -> None:
    pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """It starts for seconds, so once; each test has topics of its own."""
    broker = Broker(tmp_path_factory.mktemp("broker"))
    try:
        yield broker
    finally:
        broker.kill()

"""`run` ends, to be started again, when nobody folds any more."""

from typing import cast

import pytest

from esewatch.cli.run import signals
from esewatch.cli.run.process import _wait
from esewatch.cli.run.signals import SignalRequests
from esewatch.daemon.loop import Daemon
from esewatch.expose.http.server import HttpServer
from esewatch.threads import Worker


class NoRequests:
    """No signal comes, and the fold found no memory to say that it has ended."""

    def next(self) -> signals.Request | None:
        return None


class Watched:
    """A daemon or a server of which nothing but the watch is asked."""

    def watch(self) -> None:
        raise AssertionError("it has ended")


@pytest.mark.timeout(30)
def test_a_fold_that_ended_without_a_word_ends_the_process() -> None:
    reader = Worker(lambda: None)
    reader.join(20)
    requests = cast("SignalRequests", NoRequests())
    watched = Watched()
    assert not _wait(cast("Daemon", watched), cast("HttpServer", watched), requests, reader)

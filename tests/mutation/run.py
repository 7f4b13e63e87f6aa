"""Mutants of the agent's inner rooms, drawn by a seed, and the tests that notice them.

`python -m tests.mutation.run [--seed N] [--count N]`. All tests of TESTS are collected once. A
child runs them and notes the lines that each comes by; another child for each mutant runs the tests
that come by its line, the cheapest first, up to the first that fails. No file is changed: a child
has the functions and constants of the module replaced. What it cannot replace is not tried: what
belongs to a class and is no method, and defaults of parameters.
"""

import argparse
import ast
import gc
import inspect
import json
import os
import random
import resource
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

import pytest

from tests.mutation.changes import changes

ROOT = Path(__file__).resolve().parents[2]
AGENT = ROOT / "agent" / "esewatch"
ROOMS = ("fold", "advice", "ese/events")
TESTS = ("fold", "advice", "ese", "hard_histories", "situations", "oracle")
OPTIONS = (
    *("-q", "-s", "-m", "not slow", "-p", "no:randomly", "-p", "no:cacheprovider"),
    "--hypothesis-profile=mutants",
)
ORACLE_SEEDS = 200
LINES = ROOT / "out" / "mutation-lines.json"
SAID = ROOT / "out" / "mutant.txt"
TRACED_SECONDS = 5.0
"""Of a test that takes longer the lines of the rest are not noted."""
TRACED_CALLS = 20
"""So many calls of a function have their lines noted in one test."""
MOST_SECONDS = 40.0
"""Processor time of the tests of a mutant; the dearest ones beyond it are left out."""
ENDLESS_SECONDS = 200
MOST_BYTES = 4 << 30
NOTICED, NOT_TRIED = 1, 9


class Mutant(NamedTuple):
    """Change `number` of a module; `path` is relative to the agent."""

    path: str
    number: int
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


class Lines:
    """Plugin: processor time of each test, and the tests that come by each `path:line`.

    Lines of fixtures count for all tests of their file: a later test has them without a call.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.lines: dict[str, set[str]] = defaultdict(set)
        self._files = {str(AGENT / each): each for each in modules()}
        self._seen: set[tuple[str, int]] = set()
        self._calls: dict[int, int] = {}
        signal.signal(signal.SIGVTALRM, lambda *_: sys.settrace(None))

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename not in self._files:
            return None
        key = id(frame.f_code)
        self._calls[key] = calls = self._calls.get(key, 0) + 1
        return self._line if calls <= TRACED_CALLS else None

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        self._seen.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line

    def _noted(self, test: str) -> Iterator[None]:
        self._seen, self._calls = set(), {}
        sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(None)
            for file, line in self._seen:
                self.lines[f"{self._files[file]}:{line}"].add(test)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        yield from self._noted(item.nodeid.partition("::")[0])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        began = time.process_time()
        signal.setitimer(signal.ITIMER_VIRTUAL, TRACED_SECONDS)
        yield from self._noted(item.nodeid)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        self.seconds[item.nodeid] = time.process_time() - began

    def store(self) -> None:
        lines = {at: sorted(tests) for at, tests in sorted(self.lines.items())}
        LINES.write_text(json.dumps({"seconds": self.seconds, "lines": lines}))


def modules() -> list[str]:
    found = [path for room in ROOMS for path in sorted((AGENT / room).rglob("*.py"))]
    return [path.relative_to(AGENT).as_posix() for path in found]


def parsed(path: str) -> ast.Module:
    return ast.parse((AGENT / path).read_text(encoding="utf-8"))


def mutants() -> list[Mutant]:
    return [
        Mutant(path, index, change.line, change.text)
        for path in modules()
        for index, change in enumerate(changes(parsed(path)))
    ]


def replace(mutant: Mutant) -> bool:
    """Put the mutant into this process; False where it cannot be."""
    tree, file = parsed(mutant.path), str(AGENT / mutant.path)
    list(changes(tree))[mutant.number].make()
    code = compile(tree, file, "exec", dont_inherit=True)
    made = {(each.co_qualname, each.co_firstlineno): each for each in functions_of(code)}
    done = False
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename == file:
            old = each.__code__
            each.__code__ = made.get((old.co_qualname, old.co_firstlineno), old)
            done |= each.__code__ != old
    name = "esewatch." + mutant.path.removesuffix(".py").replace("/", ".")
    before = vars(sys.modules[name.removesuffix(".__init__")])
    after = dict(before)
    for each in tree.body:
        if isinstance(each, ast.Assign | ast.AnnAssign) and each.value:
            exec(compile(ast.Module([each], []), file, "exec", dont_inherit=True), after)
    for name, value in after.items():
        if name != "__builtins__" and value is not before[name] and value != before[name]:
            done, old = True, before[name]
            for module in list(sys.modules.values()):
                if vars(module).get(name) is old:
                    setattr(module, name, value)
    return done


def functions_of(code: CodeType) -> Iterator[CodeType]:
    """Functions and methods of a module, without those within them."""
    for each in code.co_consts:
        if isinstance(each, CodeType) and each.co_flags & inspect.CO_OPTIMIZED:
            yield each
        elif isinstance(each, CodeType):
            yield from functions_of(each)


def in_child(run: Callable[[], int], seconds: int) -> int:
    """Exit status of `run` in a process of its own, below 0 for a signal."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = NOTICED
    try:
        os.dup2(os.open(SAID, os.O_CREAT | os.O_WRONLY | os.O_TRUNC), 1)
        os.dup2(1, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
        status = run()
    finally:
        sys.stdout.flush()
        os._exit(status)


def run_tests(session: pytest.Session, items: Sequence[pytest.Item]) -> int:
    """Run them up to the first that fails."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            print(f"\nFAILED {item.nodeid}")
            return NOTICED
    return 0


class Mutation:
    """Plugin that runs mutants in the place of the tests that were collected."""

    def __init__(self, seed: int, count: int) -> None:
        self.drawn = random.Random(seed).sample(mutants(), len(mutants()))
        self.count = count
        self.tried: dict[Mutant, str] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if first_seed(item) < ORACLE_SEEDS]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        newest = max(path.stat().st_mtime for path in ROOT.glob("[at]*/**/*.py"))
        if not LINES.is_file() or LINES.stat().st_mtime < newest:
            assert in_child(lambda: self._note_lines(session), 7200) == 0, SAID.read_text()[-2000:]
        kept = json.loads(LINES.read_text())
        for mutant in self.drawn:
            if len(self.tried) < self.count:
                self._try(session, mutant, tests_of(mutant, kept["lines"], kept["seconds"]))
        return True

    def _note_lines(self, session: pytest.Session) -> int:
        plugin = Lines()
        session.config.pluginmanager.register(plugin)
        status = run_tests(session, session.items)
        plugin.store()
        return status

    def _try(self, session: pytest.Session, mutant: Mutant, tests: Sequence[str]) -> None:
        items = {item.nodeid: item for item in session.items}

        def run() -> int:
            if not replace(mutant):
                return NOT_TRIED
            return run_tests(session, [items[test] for test in tests])

        status = in_child(run, ENDLESS_SECONDS)
        if status == NOT_TRIED:
            return
        said = [line for line in SAID.read_text(errors="replace").splitlines() if "FAILED" in line]
        by = "" if status == 0 else said[0] if said else f"status {status}"
        self.tried[mutant] = by
        by = by or f"NOT NOTICED by {len(tests)} tests"
        print(f"{len(self.tried)} {mutant}\n    {by}", flush=True)


def first_seed(item: pytest.Item) -> int:
    """Of a part of the oracle's histories, else 0."""
    of = getattr(item, "callspec", None)
    return int(of.params.get("first", 0)) if of and "test_compare" in item.nodeid else 0


def tests_of(mutant: Mutant, lines: dict[str, list[str]], seconds: dict[str, float]) -> list[str]:
    """Tests that come by its line, by its module where that runs at the import.

    Those of the mirrored file go first, then the cheapest.
    """
    found = set(lines.get(f"{mutant.path}:{mutant.line}", ()))
    if not found:
        found = {each for at in lines if at.startswith(mutant.path) for each in lines[at]}
    tests = [test for test in seconds if test in found or test.partition("::")[0] in found]
    folder, _, name = mutant.path.rpartition("/")
    own = f"tests/{folder}/test_{name}::"
    tests.sort(key=lambda test: (not test.startswith(own), seconds[test]))
    while sum(seconds[test] for test in tests) > MOST_SECONDS:
        tests.pop()
    return tests


def main() -> int:
    """Run the mutants; 1 when some are not noticed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    options = parser.parse_args()
    LINES.parent.mkdir(exist_ok=True)
    plugin = Mutation(options.seed, options.count)
    pytest.main([*OPTIONS, *(f"tests/{each}" for each in TESTS)], plugins=[plugin])
    left = [mutant for mutant, by in plugin.tried.items() if not by]
    print(f"\n{len(plugin.tried)} mutants tried, {len(left)} not noticed")
    return int(bool(left) or not plugin.tried)


if __name__ == "__main__":
    sys.exit(main())

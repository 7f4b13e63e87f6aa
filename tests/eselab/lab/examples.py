"""A result of an experiment that was not run, with one of each."""

from eselab.lab.frame import Experiment, Findings, Result, ResultRow, Signal, Span, compared, told

FINDINGS = Findings(
    rows=[
        ResultRow(quantity="read", case="one", unit="MB/s", kind="modelled disk", published=250.0,
            ours=1234.5678),
        ResultRow(quantity="read", case="two", unit="MB/s", kind="modelled disk",
            published=Span(least=50.0, most=100.0), ours=617.0),
        ResultRow(
            quantity="time", case="two", unit="h", kind="real files", published=Span(least=4.0)
        ),
    ],
    comparisons=[
        compared("one, by two", "modelled disk", 4.0, 2.0, why="never told"),
        compared("time", "real files", 4.0, None, why="not run: <no> O_DIRECT"),
        told("advice", "engine-counted", "shrink", "keep", why="it is late"),
    ],
    remarks=["File system: ext4."],
)  # fmt: skip
RESULT = Result(
    experiment=Experiment(
        name="example",
        article="P1",
        question="Is one faster than two?",
        setup=["One & two."],
        steps=1,
        run=lambda _: FINDINGS,
        signals=[Signal(side="bad", case="two", alerts=("EseDefragRatioDrift",), action="grow")],
    ),
    findings=FINDINGS,
)

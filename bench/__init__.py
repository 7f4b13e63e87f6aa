"""Comparisons with peers and with limits: each a ratio measured in one run.

`python -m bench NAME...` runs benches and prints their figures; `make bench` runs all of them
and writes docs/performance.md. A bench is a module of this package with a function
`run() -> list[Figure]`.
"""

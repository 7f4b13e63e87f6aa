"""The bundled reference engine, a small storage engine in the manner of ESE, the lab and the demo.

The engine runs as a process of its own and knows `esefiles` and `esewatch.ese` only. It has no
clock and no source of chance but those it is given: the same seed gives the same bytes.
"""

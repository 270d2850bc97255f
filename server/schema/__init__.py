"""JSON Schema: validate values, generate schemas from Python types, convert arguments.

Three ways in, and what they lead to:

validate   a value and a schema -> what is wrong
           compile (keywords, applicators, members; refs, uri) -> node
           formats; patterns (regex, charsets, automaton)
generate   a Python function -> what a model is told
           docstrings; shapes (scalars, records, plain)
convert    what a model sent -> Python values
           repair, which needs only a schema

`inline` and `normalise` are for the outside: schemas for providers without `$ref`, and schemas from
people who wrote something similar. Nothing here does I/O or reads a clock.
"""

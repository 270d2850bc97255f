"""JSON Schema: validate values, generate schemas from Python types, convert arguments.

There are three entry points, listed with the modules behind them in reading order:

validate   a value and a schema -> the mismatches
           the table of keywords; compile (references); keywords, members; report
           formats, patterns (regex)
generate   a Python function -> its description and schemas for a model
           docstrings; shapes (plain, records)
convert    a model's arguments -> Python values
           repair, which needs only a schema

`kinds` checks documents whose shape the server itself defines, three times as fast, and makes
their JSON Schema. `inline` writes out references for providers that refuse `$ref`; `portable`
reduces a schema to the subset that every provider accepts. The package is pure: no I/O, no clock.
"""

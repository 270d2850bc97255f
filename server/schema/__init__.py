"""JSON Schema: validate values, generate schemas from Python types, convert arguments.

Three ways in, and what they lead to, in reading order:

validate   a value and a schema -> what is wrong
           the table of keywords; compile (references); keywords, members; report
           what text can be: formats, patterns (regex)
generate   a Python function -> what a model is told
           docstrings; shapes (plain, records)
convert    what a model sent -> Python values
           repair, which needs only a schema

`inline` is for providers that refuse `$ref`, `portable` is what any of them takes. Nothing here
does I/O or reads a clock.
"""

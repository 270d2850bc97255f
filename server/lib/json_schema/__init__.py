"""JSON Schema: validate values, generate schemas from Python types, convert arguments.

validate      a value and a schema -> the mismatches; behind it compile (references) and keywords,
              report (what is found) and regex (patterns in linear time)
generate      a Python function -> its description and schemas for a model (python_types, to_json)
convert       a model's arguments -> Python values; repair needs only a schema
field_types   checks documents whose shape the program defines, faster, and makes their schema
portable      a schema -> the subset that every provider of models accepts

All is pure: no I/O, no clock. Alone:

    from lib.json_schema.validate import validate

    schema = {"type": "object", "required": ["name"], "properties": {"age": {"type": "integer"}}}
    for mismatch in validate({"age": "4"}, schema):
        print(mismatch)  # /age: expected integer, got string ("4"), and /name: missing
"""

"""JSON Schema: validate values, generate schemas from Python types, convert arguments."""

"""Other systems' protocols: their requests as sessions, a run's events as their responses.

A handler reads a body, maps it to a session and starts a run; each event is mapped to the other
protocol and sent. A foreign body can express nothing that a session could not. Each folder can be
deleted, `openai` only together with `autoai`, which uses it. `session_body` is shared by `gateway`
and `autoai`.
"""

"""Other systems' languages: their request as a session, the run's events as their answer.

In the walk: a handler of `api` reads a body, has it mapped here, and hands the session to `Runs`;
each event comes back through here as the other system words it. The rule of the room: pure, and
nothing in a foreign body can say what a session could not. `agui` and its parts are AG-UI's,
`openai` and its parts hold what the two OpenAI fronts share, `chat` and `responses` read their
bodies, `chat_reply` and `responses_reply` answer; `gateway` and `autoai` are the others'.
"""

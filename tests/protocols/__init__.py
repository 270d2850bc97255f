"""Tests of requests in other systems' forms. Each system is an extension, whose `rows.py` has what
tests of the whole server need of it, as far as there is any:

HOSTILE    name -> (reader of a body, a body with one of everything)
growing()  bodies of its routes that grow
chosen     order -> (address, body of a run of the session `chosen`)
carrying   session, order -> (address, body) of requests that bring this session
bare       order -> (address, body) of requests that bring none
AGENTS     (address of the list of agents, of one agent, status if it is unknown)
"""

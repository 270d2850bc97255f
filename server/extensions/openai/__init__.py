"""OpenAI's APIs, Chat Completions and Responses, over the agents of this server.

The page is docs/reference/extension-openai.md.
"""

"""The official SDKs of OpenAI and frameworks that use them, on `/v1`."""

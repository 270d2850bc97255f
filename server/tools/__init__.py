"""What the agent can do: tools, the policy over them, and their execution."""

"""Tools of the agent, the policy that allows or denies calls, and their execution."""

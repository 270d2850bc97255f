"""The agent gateway's `/api/*`. This folder can be deleted."""

"""The protocol of an agent gateway (`/api/*`). This folder can be deleted."""

"""The protocol of AutoAi's chat widget (`/auto-ai/*`). This folder can be deleted."""

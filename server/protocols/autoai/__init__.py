"""AutoAi's `/auto-ai/*`. This folder can be deleted."""

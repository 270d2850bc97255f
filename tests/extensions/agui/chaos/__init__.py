"""What a thread of AG-UI survives."""

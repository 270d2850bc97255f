"""The official clients of AG-UI, on its route."""

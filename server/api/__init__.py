"""HTTP routes: each a thin mapping onto one run."""

"""The configuration's keys: what each may hold, other systems' names for them, mistakes in its
files."""

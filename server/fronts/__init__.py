"""Other systems' words for a run: bodies in, frames and replies out, all pure; api/ serves them."""

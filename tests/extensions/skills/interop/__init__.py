"""Skills as packages ship them."""

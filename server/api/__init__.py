"""yaa's own HTTP interface: router, keys and the handlers of its routes."""

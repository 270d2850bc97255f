"""yaa in a program of one's own. Imports everything; nothing imports it."""

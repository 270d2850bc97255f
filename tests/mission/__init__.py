"""What the five source systems promised, one test a row; the number in a test is the row."""

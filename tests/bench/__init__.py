"""What the server adds, beside the same model reached directly and through a bare byte relay.

`python3 -m tests.bench` prints the table. Everything runs on this machine and in turns, so that
the ratios hold while the absolute figures drift. Nothing here passes or fails on time.
"""

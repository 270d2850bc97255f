import os

import server  # noqa: F401  (ends here, with a word, where Python is too old)

# Hundreds of servers are started: each would compile all its modules again where this is set, as it
# is in many containers, and not on the machines of users.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

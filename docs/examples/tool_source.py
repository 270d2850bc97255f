"""Tools from a database: put it into `tools/` of the home folder. A row is a tool."""

import sqlite3
from pathlib import Path

from yaa import BaseTool

DATABASE = Path(__file__).parent.parent / "tools.sqlite"
REFRESH_S = 30  # how often the server asks again


class Template(BaseTool):
    read_only = True

    def __init__(self, name, description, text):
        self.name, self.description, self.text = name, description, text
        name = {"type": "string", "description": "who is greeted"}
        self.input_schema = {"type": "object", "properties": {"name": name}, "required": ["name"]}

    def execute(self, params):
        return self.text.replace("{name}", params["name"])


def tools():
    """Every tool that there is now."""
    if not DATABASE.exists():
        return []
    with sqlite3.connect(f"file:{DATABASE}?mode=ro", uri=True) as database:
        rows = database.execute("SELECT name, description, text FROM tools").fetchall()
    database.close()
    return [Template(*row) for row in rows]

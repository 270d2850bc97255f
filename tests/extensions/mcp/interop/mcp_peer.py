"""A server made with the official `mcp` package, of either line: run with the environment it is in.

python tests/extensions/mcp/interop/mcp_peer.py stdio
python tests/extensions/mcp/interop/mcp_peer.py streamable-http <port>
"""

# mypy: ignore-errors
import sys

from pydantic import BaseModel

HTTP = {"port": int(sys.argv[2])} if len(sys.argv) > 2 else {}

try:
    from mcp.server.mcpserver import Context, MCPServer

    server, run = MCPServer("peer"), HTTP
except ImportError:
    from mcp.server.fastmcp import Context, FastMCP

    server, run = FastMCP("peer", **HTTP), {}


class Point(BaseModel):
    x: int
    y: int = 2


class Name(BaseModel):
    name: str


@server.tool()
def add(point: Point) -> int:
    """Add coordinates."""
    return point.x + point.y


@server.tool()
def boom() -> str:
    """Fail."""
    raise ValueError("on purpose")


@server.tool()
async def steps(ctx: Context) -> str:
    """Two steps."""
    for done in (1, 2):
        try:
            await ctx.report_progress(done, 2, f"step {done}")
        except TypeError:  # early releases have no words for it
            await ctx.report_progress(done, 2)
    return "stepped"


try:
    from typing import Annotated

    from mcp.server.mcpserver import Elicit, Resolve

    def who() -> Elicit[Name]:
        return Elicit("Your name?", Name)

    @server.tool()
    def greet(name: Annotated[Name, Resolve(who)]) -> str:
        """Ask for a name, and greet."""
        return f"hello {name.name}"
except ImportError:
    pass

if __name__ == "__main__":
    server.run(sys.argv[1], **run)

"""An HTTP/1.1 server and client on asyncio, and server-sent events.

parser and sse are pure. connection and listener serve, connection_pool and client ask. Every limit
is in ServerLimits, Timeouts or MessageLimits. Alone:

    import asyncio
    from lib.http.client import Client
    from lib.http.connection import ServerLimits
    from lib.http.listener import BaseServer

    async def hello(exchange):
        await exchange.respond(200, {"Content-Type": "text/plain"}, await exchange.body())

    async def main():
        server = BaseServer(hello, ServerLimits())
        await server.listen("127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.port}/"
        async with await Client().request("POST", url, body=b"hello") as response:
            print(response.status, await response.read(1000))
        await server.close()

    asyncio.run(main())  # 200 b'hello'
"""

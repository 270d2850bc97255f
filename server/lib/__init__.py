"""Libraries that a well-kept package might give: they import nothing of the rest of yaa.

problem            errors of requests as RFC 9457 bodies
hidden_characters  characters of a text that nobody sees
strict_json        JSON as the standard has it, with the place of each mistake
json_schema        check, repair and make JSON Schemas
runtime            the event loop, programs, memory, files and shares of several people
http               an HTTP/1.1 server and client on asyncio
sandbox            calls of functions in processes that can reach only what they are given
"""

"""OpenAPI documents as tools: every kind of parameter, references, and what is left out."""

from __future__ import annotations

import unittest
from typing import Any

from server.tools.openapi import tools_in
from server.tools.rest import Operation, operations, request

PETS: dict[str, Any] = {
    "openapi": "3.0.3",
    "paths": {
        "/pets/{pet-id}": {
            "parameters": [{"$ref": "#/components/parameters/Id"}],
            "get": {
                "operationId": "getPet",
                "summary": "One pet.",
                "parameters": [
                    {"name": "full", "in": "query", "schema": {"type": "boolean"}},
                    {"name": "sid", "in": "cookie", "schema": {"type": "string"}},
                ],
            },
            "put": {
                "operationId": "pets.replace",
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}
                    },
                },
            },
            "post": {
                "operationId": "photo",
                "requestBody": {"required": True, "content": {"image/png": {}}},
            },
        },
        "/pets": {"get": {"description": "All."}, "delete": {"parameters": [{"$ref": "#/nope"}]}},
    },
    "components": {
        "parameters": {
            "Id": {"name": "pet-id", "in": "path", "required": True, "schema": {"type": "string"}}
        },
        "schemas": {
            "Pet": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string", "nullable": True},
                    "age": {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
                    "friends": {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}},
                },
            }
        },
    },
}


class Imported(unittest.TestCase):
    def setUp(self) -> None:
        about = {"base_url": "https://pets.example.org"}
        found = list(operations("pets", about, PETS))
        self.problems = [item for item in found if isinstance(item, str)]
        self.found = {item.tool.name: item for item in found if isinstance(item, Operation)}

    def test_operations(self) -> None:
        self.assertEqual(set(self.found), {"pets_getPet", "pets_pets_replace", "pets_get_pets"})
        get = self.found["pets_getPet"]
        self.assertEqual(get.tool.description, "One pet.")
        self.assertEqual(get.tool.parameters["required"], ["pet-id"])
        url, _, _ = request(get, {"pet-id": "a/b", "full": True})
        self.assertEqual(url, "https://pets.example.org/pets/a%2Fb?full=true")

    def test_bodies_and_references(self) -> None:
        put = self.found["pets_pets_replace"]
        pet = put.tool.parameters["properties"]["body"]
        self.assertEqual(pet["properties"]["name"]["type"], ["string", "null"])
        self.assertEqual(pet["properties"]["age"], {"type": "integer", "exclusiveMinimum": 0})
        self.assertNotIn("$ref", str(pet))
        self.assertEqual(request(put, {"pet-id": "1", "body": {"name": "x"}})[2], b'{"name":"x"}')

    def test_what_is_left_out_is_told(self) -> None:
        self.assertEqual(len(self.problems), 2)
        self.assertIn("photo: its body is not JSON", self.problems[0])
        self.assertIn("#/nope leads nowhere", self.problems[1])

    def test_a_choice(self) -> None:
        found = list(tools_in(PETS, ["getPet", "none"]))
        self.assertEqual(found[1:], ["there is no operation none"])
        self.assertEqual(len(found), 2)

    def test_no_document(self) -> None:
        documents: list[Any] = [None, 5, [], {}, {"swagger": "2.0"}, {"openapi": 3}]
        for document in documents:
            with self.subTest(document):
                self.assertEqual(list(tools_in(document, [])), ["this is no OpenAPI 3 document"])
        for paths in (5, {"/a": 5}, {"/a": {"get": 5}}, {"/a": {"get": {"parameters": 5}}}):
            with self.subTest(paths):
                found = list(tools_in({"openapi": "3.1.0", "paths": paths}, []))
                self.assertFalse([item for item in found if isinstance(item, str)])


if __name__ == "__main__":
    unittest.main()

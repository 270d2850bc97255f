"""OpenAPI documents as tools: every kind of parameter, references, and what is left out."""

from __future__ import annotations

import json
import time
import unittest
from pathlib import Path
from typing import Any

from server.extensions.rest.openapi import MAX_SCHEMA, tools_in
from server.extensions.rest.operations import HttpTool, operations, request
from server.lib.http.client import Client
from server.lib.json_schema.validate import Validator, check_schema
from server.tools.decorators import ToolError

BASE = "https://api.example.org/v1"
CLIENT = Client()
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
        found = list(operations(CLIENT, "pets", about, PETS))
        self.problems = [item for item in found if isinstance(item, str)]
        self.found = {item.name: item for item in found if isinstance(item, HttpTool)}

    def test_what_the_caller_brings_need_not_be_written(self) -> None:
        """A cookie, or a header that is not for models, that the document insists on."""
        needs = [
            {"name": "SID", "in": "cookie", "required": True},
            {"name": "X-Api-Token", "in": "header", "required": True},
        ]
        document = {
            "openapi": "3.1.0",
            "paths": {"/me": {"get": {"operationId": "me", "parameters": needs}}},
        }
        about = {"base_url": BASE, "openapi": "x"}
        (left_out,) = operations(CLIENT, "api", about, document)
        self.assertIn("it needs a parameter in cookie", str(left_out))
        (left_out,) = operations(CLIENT, "api", {**about, "forward": ["cookie:SID"]}, document)
        self.assertIn("may not write the header", str(left_out))
        both = {"forward": ["cookie:SID", "x-api-token"]}
        (op,) = operations(CLIENT, "api", about | both, document)
        assert isinstance(op, HttpTool)
        self.assertEqual((op.name, op.places), ("api_me", {}))

    def test_operations(self) -> None:
        self.assertEqual(set(self.found), {"pets_getPet", "pets_pets_replace", "pets_get_pets"})
        get = self.found["pets_getPet"]
        self.assertEqual(get.description, "One pet.")
        self.assertEqual(get.parameters["required"], ["pet-id"])
        url, _, _ = request(get, {"pet-id": "a/b", "full": True})
        self.assertEqual(url, "https://pets.example.org/pets/a%2Fb?full=true")

    def test_bodies_and_references(self) -> None:
        put = self.found["pets_pets_replace"]
        pet = put.parameters["properties"]["body"]
        self.assertEqual(pet["properties"]["name"]["type"], ["string", "null"])
        self.assertEqual(pet["properties"]["age"], {"type": "integer", "exclusiveMinimum": 0})
        self.assertNotIn("$ref", str(pet))
        self.assertEqual(request(put, {"pet-id": "1", "body": {"name": "x"}})[2], b'{"name":"x"}')

    def test_what_is_left_out_is_told(self) -> None:
        self.assertEqual(len(self.problems), 2)
        self.assertIn("photo: its body is neither JSON nor a form", self.problems[0])
        self.assertIn("#/nope leads nowhere", self.problems[1])

    def test_a_choice(self) -> None:
        found = list(tools_in(PETS, ["getPet", "none"]))
        self.assertEqual(found[1:], ["there is no operation none"])
        self.assertEqual(len(found), 2)

    def test_long_names_that_differ_at_their_end(self) -> None:
        long = "replaceFlowcontrolApiserverV1PriorityLevelConfiguration"
        paths = {f"/{end}": {"get": {"operationId": long + end}} for end in ("", "Status")}
        document = {"openapi": "3.0.0", "paths": paths}
        names = [item["name"] for item in tools_in(document, []) if isinstance(item, dict)]
        self.assertEqual([len(name) for name in names], [48, 48])
        self.assertEqual(len(set(names)), 2)
        for wanted in (long + "Status", names[1]):
            (found,) = tools_in(document, [wanted])
            assert isinstance(found, dict), found
            self.assertEqual(found["path"], "/Status")

    def test_no_document(self) -> None:
        documents: list[Any] = [None, 5, [], {}, {"swagger": "1.2"}, {"openapi": 3}]
        for document in documents:
            with self.subTest(document):
                self.assertEqual(
                    list(tools_in(document, [])),
                    ["this is neither an OpenAPI 3 nor a Swagger 2.0 document"],
                )
        for paths in (5, {"/a": 5}, {"/a": {"get": 5}}, {"/a": {"get": {"parameters": 5}}}):
            with self.subTest(paths):
                found = list(tools_in({"openapi": "3.1.0", "paths": paths}, []))
                self.assertFalse([item for item in found if isinstance(item, str)])


class Bodies(unittest.TestCase):
    """What is sent where the API takes no JSON, as Stripe, Twilio and Slack do not."""

    def test_a_body_that_cannot_be_sent_is_named(self) -> None:
        """Else a model is offered an upload that can never work."""
        item = {"operationId": "op", "requestBody": {"content": {"multipart/form-data": {}}}}
        document = {"openapi": "3.0.0", "paths": {"/a": {"post": item}}}
        problem, op = operations(CLIENT, "x", {"base_url": BASE}, document)
        told = "op: calls go without its body, which is multipart/form-data"
        self.assertEqual(problem, told)
        assert isinstance(op, HttpTool), op
        self.assertEqual(op.parameters["properties"], {})
        self.assertIn("multipart/form-data cannot be sent", op.description)

    def test_any_type_is_json_where_no_form_is_taken(self) -> None:
        form = "application/x-www-form-urlencoded"
        for kinds, wanted in (
            (["*/*"], b'{"a":1}'),
            (["application/*"], b'{"a":1}'),
            (["*/*", form], b"a=1"),
            (["*/*", form, "application/json"], b'{"a":1}'),
        ):
            with self.subTest(kinds):
                op = self.made(
                    {kind: {"schema": {"type": "object"}} for kind in kinds}, required=True
                )
                assert isinstance(op, HttpTool), op
                self.assertEqual(request(op, {"body": {"a": 1}})[2], wanted)

    def test_the_type_that_the_document_names_is_sent(self) -> None:
        patch = "application/merge-patch+json"
        for kinds, wanted in (
            ([patch], patch),
            (["*/*"], "application/json"),
            (["*/*", patch], patch),
        ):
            with self.subTest(kinds):
                op = self.made({kind: {"schema": {"type": "object"}} for kind in kinds})
                assert isinstance(op, HttpTool), op
                headers = request(op, {"body": {"a": 1}})[1]
                self.assertEqual(headers["content-type"], wanted)

    def made(self, content: dict[str, Any], **body: Any) -> HttpTool | str:
        item = {"operationId": "op", "requestBody": {"content": content, **body}}
        document = {"openapi": "3.0.0", "paths": {"/a": {"post": item}}}
        (found,) = operations(CLIENT, "x", {"base_url": BASE}, document)
        return found

    def test_forms(self) -> None:
        kind, schema = "application/x-www-form-urlencoded", {"type": "object"}
        deep = {"encoding": {"expand": {"style": "deepObject", "explode": True}}}
        value = {"to": "a&b", "n": [1, 2], "on": True, "off": None, "more": {"k": ["v", {"w": 1}]}}
        for about, wanted in (
            ({}, "to=a%26b&n=1&n=2&on=true&more=%7B%22k%22%3A%5B%22v%22%2C%7B%22w%22%3A1%7D%5D%7D"),
            (
                deep,
                "to=a%26b&n%5B0%5D=1&n%5B1%5D=2&on=true"
                "&more%5Bk%5D%5B0%5D=v&more%5Bk%5D%5B1%5D%5Bw%5D=1",
            ),
        ):
            with self.subTest(about):
                op = self.made({kind: {"schema": schema, **about}})
                assert isinstance(op, HttpTool), op
                _, headers, body = request(op, {"body": value})
                self.assertEqual(headers["content-type"], kind)
                self.assertEqual(body.decode(), wanted)
                self.assertEqual(request(op, {})[2], b"")
                with self.assertRaisesRegex(ToolError, "body is no object"):
                    request(op, {"body": "a=b"})

    def test_json_comes_first_and_what_need_not_be_sent_is_not(self) -> None:
        form, json_kind = "application/x-www-form-urlencoded", "application/json; charset=utf-8"
        both = self.made({form: {}, json_kind: {"schema": {"type": "object"}}})
        assert isinstance(both, HttpTool), both
        self.assertEqual(request(both, {"body": {"a": 1}})[2], b'{"a":1}')
        needed = self.made({"multipart/form-data": {}}, required=True)
        self.assertEqual(needed, "op: its body is neither JSON nor a form")


def only(path: str, item: Any, api: str = "x", **more: Any) -> HttpTool | str:
    """The tool of a document with one operation, or why there is none."""
    document = {"openapi": "3.0.0", "paths": {path: {"get": item}}, **more}
    (found,) = operations(CLIENT, api, {"base_url": BASE}, document)
    return found


class Paths(unittest.TestCase):
    """What stands in the key of a path besides the path."""

    LIMIT: dict[str, Any] = {"name": "limit", "in": "query", "schema": {"type": "integer"}}
    ID: dict[str, Any] = {"name": "id", "in": "path", "schema": {"type": "string"}}

    def test_fragments_and_queries(self) -> None:
        for key, wanted in (
            ("/links/{id}#update", "/links/5?limit=3"),
            ("/#Action=Create", "/?limit=3"),
            ("/items?beta=true", "/items?beta=true&limit=3"),
            ("/items?a=&a=%26", "/items?a=&a=%26&limit=3"),
            ("/items?beta=true#one", "/items?beta=true&limit=3"),
            ("/items?limit=9", "/items?limit=9"),
        ):
            with self.subTest(key):
                parameters = [self.LIMIT, *([self.ID] if "{id}" in key else [])]
                op = only(key, {"operationId": "op", "parameters": parameters})
                assert isinstance(op, HttpTool), op
                url, _, _ = request(op, {"id": "5", "limit": 3})
                self.assertEqual(url.removeprefix(BASE), wanted)

    def test_the_owners_query_replaces_that_of_the_path(self) -> None:
        about = {"base_url": BASE, "query": {"beta": "owner"}, "tools": [{"path": "/a?beta=1&b=2"}]}
        (op,) = operations(CLIENT, "x", about)
        assert isinstance(op, HttpTool), op
        self.assertEqual(request(op, {})[0], f"{BASE}/a?b=2&beta=owner")

    def test_arguments_within_the_query_are_refused(self) -> None:
        found = only("/a?id={id}", {"operationId": "op", "parameters": [self.ID]})
        self.assertIn("the query ?id={id} has arguments", str(found))

    def test_names_have_the_room_that_the_api_leaves(self) -> None:
        for length in (1, 15, 16, 20, 50, 55):
            with self.subTest(length):
                api = "a" * length
                op = only("/a", {"operationId": "b" * 70}, api)
                assert isinstance(op, HttpTool), op
                self.assertEqual(len(op.name), min(64, length + 49))

    def test_two_paths_of_the_same_letters(self) -> None:
        paths = {"/a/id": {"get": {}}, "/a/{id}": {"get": {"parameters": [self.ID]}}}
        found = list(tools_in({"openapi": "3.0.0", "paths": paths}, []))
        names = [str(each["name"]) for each in found if isinstance(each, dict)]
        self.assertEqual(names[0], "get_a_id")
        self.assertRegex(names[1], r"^get_a_id_[0-9a-f]{8}$")


class Written(unittest.TestCase):
    """Lists and objects in a query, by the table of OpenAPI's `style` and `explode`."""

    def test_styles(self) -> None:
        for style, explode, items, fields in (
            (None, None, "c=a&c=b", "k=1&l=x"),
            ("form", True, "c=a&c=b", "k=1&l=x"),
            ("form", False, "c=a%2Cb", "c=k%2C1%2Cl%2Cx"),
            ("spaceDelimited", False, "c=a+b", "c=k+1+l+x"),
            ("spaceDelimited", True, "c=a&c=b", "k=1&l=x"),
            ("pipeDelimited", None, "c=a%7Cb", "c=k%7C1%7Cl%7Cx"),
            ("deepObject", True, "c%5B0%5D=a&c%5B1%5D=b", "c%5Bk%5D=1&c%5Bl%5D=x"),
        ):
            about: dict[str, Any] = {"name": "c", "in": "query", "schema": {}}
            about |= {k: v for k, v in (("style", style), ("explode", explode)) if v is not None}
            op = only("/a", {"operationId": "op", "parameters": [about]})
            assert isinstance(op, HttpTool), op
            for value, wanted in ((["a", "b"], items), ({"k": 1, "l": "x"}, fields)):
                with self.subTest(style, explode=explode, value=value):
                    self.assertEqual(request(op, {"c": value})[0], f"{BASE}/a?{wanted}")


class Schemas(unittest.TestCase):
    def test_keywords_of_vendors_and_other_dialects_are_not_sent(self) -> None:
        lost = {"$ref": "#/components/schemas/None"}
        odd: dict[str, Any] = {"$recursiveAnchor": True, "x-more": lost, "xml": {}, "id": "u"}
        inner = {"type": "string", "minLength": 1, "title": "T", "default": {"x-a": 1}, **odd}
        schema = {"type": "object", "properties": {"x-a": inner}, **odd}
        about = {"name": "a", "in": "query", "schema": schema}
        op = only("/a", {"operationId": "op", "parameters": [about]})
        assert isinstance(op, HttpTool), op
        kept = {"type": "string", "minLength": 1, "title": "T", "default": {"x-a": 1}}
        self.assertEqual(
            op.parameters["properties"]["a"], {"type": "object", "properties": {"x-a": kept}}
        )

    def test_what_is_in_another_file_is_named(self) -> None:
        other = {"$ref": "other.yml#/x"}
        told = "other.yml#/x is in another file; put the document together in one file first"
        body = {"content": {"application/json": {"schema": {"items": other}}}}
        for item in (
            other,
            {"parameters": [other]},
            {"parameters": [{"name": "a", "in": "query", "schema": other}]},
            {"requestBody": other},
            {"requestBody": body},
        ):
            with self.subTest(item):
                self.assertIn(told, str(only("/a", {"operationId": "op", **item})))

    def test_long_descriptions(self) -> None:
        op = only("/a", {"operationId": "op", "description": "d" * 3000})
        assert isinstance(op, HttpTool), op
        self.assertEqual((len(op.description), op.description[-2:]), (1024, "d…"))


class Swagger(unittest.TestCase):
    """Swagger 2.0 documents, by the table of what differs from OpenAPI 3."""

    def found(self, item: dict[str, Any], **more: Any) -> list[HttpTool | str]:
        document = {"swagger": "2.0", "paths": {"/a/{id}": {"post": item}}, **more}
        return list(operations(CLIENT, "x", {"base_url": BASE}, document))

    def sent(self, written: list[Any], args: dict[str, Any], **more: Any) -> tuple[str, bytes]:
        id_ = {"name": "id", "in": "path", "type": "string", "required": True}
        (op,) = self.found({"operationId": "op", "parameters": [id_, *written]}, **more)
        assert isinstance(op, HttpTool), op
        self.assertEqual(check_schema(op.parameters), [])
        self.assertEqual(Validator(op.parameters).errors({"id": "1", **args}), [])
        self.assertTrue(Validator(op.parameters).errors({"id": 1, **args}))
        url, _, body = request(op, {"id": "1", **args})
        return url.removeprefix(BASE + "/a/1"), body

    def test_parameters(self) -> None:
        many = {"type": "array", "items": {"type": "string"}}
        q: dict[str, Any] = {"name": "q", "in": "query"}
        shared = {"Q": {**q, "type": "integer"}}
        for about, value, wanted in (
            ({**q, "type": "string"}, "a b", "?q=a+b"),
            ({"$ref": "#/parameters/Q"}, 3, "?q=3"),
            ({**q, **many}, ["a", "b"], "?q=a%2Cb"),
            ({**q, **many, "collectionFormat": "multi"}, ["a", "b"], "?q=a&q=b"),
            ({**q, **many, "collectionFormat": "pipes"}, ["a", "b"], "?q=a%7Cb"),
            ({**q, **many, "collectionFormat": "ssv"}, ["a", "b"], "?q=a+b"),
        ):
            with self.subTest(about):
                self.assertEqual(self.sent([about], {"q": value}, parameters=shared)[0], wanted)

    def test_bodies(self) -> None:
        pet = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}
        body = {"name": "pet", "in": "body", "required": True}
        body["schema"] = {"$ref": "#/definitions/Pet"}
        for consumes in ({}, {"consumes": ["application/json"]}, {"consumes": ["*/*"]}):
            with self.subTest(consumes):
                more: dict[str, Any] = {"definitions": {"Pet": pet}, **consumes}
                self.assertEqual(
                    self.sent([body], {"body": {"name": "x"}}, **more)[1], b'{"name":"x"}'
                )
        (refused,) = self.found({"operationId": "op", "parameters": [body]}, consumes=["text/xml"])
        self.assertIn("neither JSON nor a form", str(refused))

    def test_forms_and_files(self) -> None:
        name = {"name": "name", "in": "formData", "type": "string", "required": True}
        tags = {"name": "tags", "in": "formData", "type": "array", "items": {"type": "string"}}
        args = {"body": {"name": "x", "tags": ["a", "b"]}}
        self.assertEqual(self.sent([name, tags], args)[1], b"name=x&tags=a%2Cb")
        multi = {**tags, "collectionFormat": "multi"}
        self.assertEqual(self.sent([name, multi], args)[1], b"name=x&tags=a&tags=b")
        file = {"name": "file", "in": "formData", "type": "file"}
        id_ = {"name": "id", "in": "path", "type": "string"}
        problem, op = self.found({"operationId": "op", "parameters": [id_, file]})
        self.assertIn("calls go without its body, which is multipart/form-data", str(problem))
        self.assertIsInstance(op, HttpTool)
        (refused,) = self.found({"operationId": "op", "parameters": [file, name]})
        self.assertIn("neither JSON nor a form", str(refused))


class Documents(unittest.TestCase):
    """Documents in the shape of those that people have: what comes of each operation, and what of
    arguments that fit it and that do not."""

    def read(self, name: str) -> dict[str, HttpTool]:
        file = Path(__file__).with_name("vectors") / f"{name}.json"
        about = {"base_url": BASE, "headers": {"authorization": "Bearer owner"}}
        found = list(operations(CLIENT, "x", about, json.loads(file.read_text())))
        self.problems = [item for item in found if isinstance(item, str)]
        made = {item.name[2:]: item for item in found if isinstance(item, HttpTool)}
        for item in made.values():
            self.assertEqual(check_schema(item.parameters), [], item.name)
        return made

    def sent(self, op: HttpTool, args: dict[str, Any]) -> tuple[str, Any]:
        """(what is behind the base URL, the body) of arguments that fit."""
        self.assertEqual(Validator(op.parameters).errors(args), [])
        url, headers, body = request(op, args)
        self.assertTrue(url.startswith(BASE), url)
        self.assertEqual(headers["authorization"], "Bearer owner")
        return url.removeprefix(BASE), json.loads(body) if body else None

    def unfit(self, op: HttpTool, args: dict[str, Any]) -> None:
        self.assertTrue(Validator(op.parameters).errors(args), args)

    def test_petstore(self) -> None:
        found = self.read("petstore-3.0")
        self.assertEqual(
            set(found),
            {"updatePet", "addPet", "findPetsByStatus", "findPetsByTags", "getPetById"}
            | {"updatePetWithForm", "deletePet", "uploadFile", "createUsersWithListInput"},
        )
        self.assertEqual(
            self.problems,
            ["uploadFile: calls go without its body, which is application/octet-stream"],
        )
        self.assertEqual([*found["deletePet"].parameters["properties"]], ["petId"])
        pet = {"name": "Rex", "photoUrls": [], "category": {"id": 1}}
        self.assertEqual(self.sent(found["addPet"], {"body": pet}), ("/pet", pet))
        self.unfit(found["addPet"], {"body": {"name": "Rex"}})
        self.unfit(found["addPet"], {})
        self.assertEqual(
            self.sent(found["findPetsByTags"], {"tags": ["a", "b&c"]})[0],
            "/pet/findByTags?tags=a&tags=b%26c",
        )
        self.unfit(found["findPetsByStatus"], {"status": "gone"})
        users = [{"username": "me"}]  # without the id that is only in answers
        self.assertEqual(
            self.sent(found["createUsersWithListInput"], {"body": users}),
            ("/user/createWithList", users),
        )

    def test_references(self) -> None:
        found = self.read("references-3.0")
        self.assertEqual(self.problems, [])
        self.assertEqual(set(found), {"listOrders", "createOrder", "patchOrder"})
        listing = found["listOrders"]
        self.assertNotIn("Authorization", listing.parameters["properties"])
        wanted = "?limit=10&ids=a%2Cb&created%5Bgte%5D=1&created%5Blt%5D=9&tags=x%7Cy"
        args = {"shop-id": "s/1", "limit": 10, "ids": ["a", "b"], "created": {"gte": 1, "lt": 9}}
        args |= {"tags": ["x", "y"], "filter": {"open": True}}
        self.assertEqual(
            self.sent(listing, args)[0],
            f"/shops/s%2F1/orders{wanted}&filter=%7B%22open%22%3Atrue%7D",
        )
        self.unfit(listing, {"shop-id": "s", "limit": 11})
        self.unfit(listing, {"limit": 1})
        order: dict[str, Any] = {"kind": "o", "lines": [{"sku": "a"}, {"percent": 5}], "note": None}
        order |= {"state": None, "parent": None, "nullable": True, "example": "x"}
        args = {"shop-id": "s", "body": order}
        self.assertEqual(self.sent(found["createOrder"], args), ("/shops/s/orders", order))
        wrong: Any
        for wrong in ({"lines": []}, {"lines": [{"sku": "a", "count": 0}]}, {"kind": None}):
            self.unfit(found["createOrder"], {"shop-id": "s", "body": {**order, **wrong}})
        patch = {"shop-id": "s", "id": "..x", "body": {"a": None, "b": "c"}}
        self.assertEqual(self.sent(found["patchOrder"], patch)[0], "/shops/s/orders/..x")

    def test_modern(self) -> None:
        found = self.read("modern-3.1")
        self.assertEqual(set(found), {"notes_create", "get_notes_id", "odd_path"})
        self.assertEqual(len(self.problems), 1)
        self.assertIn("/lost: #/components/pathItems/Lost leads nowhere", self.problems[0])
        self.assertEqual(found["get_notes_id"].description, "One note.")
        note: dict[str, Any] = {
            "text": None,
            "kind": "note",
            "rows": ["a", 1],
            "inner": {"text": "b"},
            "any": 5,
        }
        self.assertEqual(self.sent(found["notes_create"], {"body": note}), ("/notes", note))
        wrong: Any
        for wrong in ({"kind": "x"}, {"rows": ["a", 1, 2]}, {"at": 0}, {"more": 1}):
            self.unfit(found["notes_create"], {"body": {**note, **wrong}})
        self.assertEqual(
            self.sent(found["odd_path"], {"a": "{b}", "b": "é"})[0], "/x-y/~odd/%7Bb%7D%C3%A9"
        )

    def test_documents_that_lie(self) -> None:
        circle = {"$ref": "#/components/parameters/A"}
        deep: Any = {"type": "string"}
        for _ in range(200):
            deep = {"type": "object", "properties": {"a": deep}}
        many = {f"S{n}": {"properties": {k: {"$ref": f"#/components/schemas/S{n + 1}"}
                for k in "ab"}} for n in range(30)}  # fmt: skip
        for name, item, components in (
            ("a circle", {"parameters": [circle]}, {"parameters": {"A": circle}}),
            ("elsewhere", {"parameters": [{"$ref": "http://127.0.0.1/x"}]}, {}),
            ("a file", {"requestBody": {"$ref": "/etc/passwd"}}, {}),
            ("odd", {"parameters": [5, None, {"in": [], "name": {}}], "requestBody": []}, {}),
            ("deep", {"requestBody": {"content": {"application/json": {"schema": deep}}}}, {}),
            (
                "a billion",
                {"parameters": [{"name": "a", "in": "query",
                                 "schema": {"$ref": "#/components/schemas/S0"}}]},
                {"schemas": many},
            ),
        ):  # fmt: skip
            with self.subTest(name):
                document = {"openapi": "3.0.0", "paths": {"/a": {"get": item}}}
                document["components"] = components
                began = time.process_time()
                found = list(tools_in(document, []))
                self.assertEqual(len(found), 1)
                self.assertLess(time.process_time() - began, 5)

    def test_types_within_types_end_where_a_model_could_not_read_on(self) -> None:
        """Qdrant's search is 43 KB with references, and 540 KB when they are written out."""
        width = [{"$ref": f"#/components/schemas/T{n}"} for n in range(8)]
        types: dict[str, Any] = {
            f"T{n}": {"type": "object", "properties": {"inner": {"anyOf": width}, f"t{n}": {}}}
            for n in range(8)
        }
        about = {"in": "query", "name": "a", "schema": {"$ref": "#/components/schemas/T0"}}
        document = {"openapi": "3.0.0", "paths": {"/a": {"get": {"parameters": [about]}}}}
        (found,) = tools_in({**document, "components": {"schemas": types}}, [])
        assert isinstance(found, dict)
        a = found["parameters"]["a"]
        self.assertLess(len(json.dumps(a)), 1.1 * MAX_SCHEMA)
        self.assertIn("t1", a["properties"]["inner"]["anyOf"][1]["properties"])
        self.assertIn('"description": "same shape as T1"', json.dumps(a))
        deep = {"t0": 1, "inner": {"t1": 1, "inner": {"t2": 1, "inner": {"inner": {"t0": 1}}}}}
        check = Validator(found["parameters"]["a"])
        self.assertEqual((check.errors(deep), len(check.errors({"inner": 5}))), ([], 1))


if __name__ == "__main__":
    unittest.main()

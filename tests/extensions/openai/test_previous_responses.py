"""Requests that name earlier answers: what they stand for, and what cannot be found."""

from __future__ import annotations

import unittest
from typing import Any

from server.errors import Problem
from server.extensions.openai import responses

Json = dict[str, Any]
RUNS = ("a1", "b2", "c3")


def user(text: str) -> Json:
    return {"role": "user", "content": text}


def says(run: str, number: int = 0) -> Json:
    return {"id": f"msg_{run}_{number}", "type": "message", "role": "assistant", "content": run}


def named(item: Json) -> Json:
    return {"type": "item_reference", "id": item["id"]}


class Case(unittest.TestCase):
    def setUp(self) -> None:
        """A conversation of three answers, each of which names the one before."""
        self.fetched: list[str] = []
        self.size = 100  # bytes of each answer
        self.there: dict[str, Json] = {}
        before = None
        for run in RUNS:
            body = {"previous_response_id": before, "input": f"to {run}"}
            before = responses.response_id(run)
            self.there[before] = responses.kept_answer(body, [says(run), says(run, 1)])

    def earlier(self, name: str, most: int) -> tuple[Json, int] | None:
        self.fetched.append(name)
        found = self.there.get(name)
        return None if found is None else (found if self.size <= most else {}, self.size)

    def texts(self, **body: Any) -> list[str]:
        return [item["content"] for _, item in responses.conversation(body, self.earlier)]

    def refused(self, **body: Any) -> tuple[str, str]:
        with self.assertRaises(Problem) as caught:
            self.texts(**body)
        (error,) = caught.exception.errors
        self.assertEqual(caught.exception.status, 400)
        return error["pointer"], error["detail"]


class Conversation(Case):
    def test_a_text_is_the_users(self) -> None:
        self.assertEqual(self.texts(input="hi"), ["hi"])
        self.assertEqual(self.fetched, [])

    def test_an_answer_brings_all_before_it(self) -> None:
        found = self.texts(previous_response_id="resp_c3", input="now")
        wanted = [text for run in RUNS for text in (f"to {run}", run, run)]
        self.assertEqual(found, [*wanted, "now"])
        self.assertEqual(len(self.fetched), len(RUNS))

    def test_an_item_stands_at_its_place(self) -> None:
        reference = named(says("a1", 1))
        for name, item in (("typed", reference), ("bare", {"id": reference["id"]})):
            with self.subTest(name):
                self.assertEqual(self.texts(input=[user("x"), item, user("y")]), ["x", "a1", "y"])

    def test_items_of_one_answer_are_looked_up_once(self) -> None:
        self.texts(input=[named(says("a1")), named(says("a1", 1)), named(says("b2"))])
        self.assertEqual(self.fetched, ["resp_a1", "resp_b2"])

    def test_a_kept_input_may_name_items_itself(self) -> None:
        """So that what clients name is not kept again with each answer."""
        body = {"input": [user("x"), named(says("a1")), user("y")]}
        self.there["resp_d4"] = responses.kept_answer(body, [says("d4")])
        found = self.texts(previous_response_id="resp_d4", input="now")
        self.assertEqual(found, ["x", "a1", "y", "d4", "now"])

    def test_an_item_with_an_id_and_a_role_is_itself(self) -> None:
        self.assertEqual(self.texts(input=[{"id": "msg_a1_0", **user("own")}]), ["own"])


class Refused(Case):
    def test_what_is_not_kept(self) -> None:
        gone = self.there.pop("resp_b2")
        for name, body, where in (
            (
                "an answer",
                {"previous_response_id": "resp_x", "input": "x"},
                "/previous_response_id",
            ),
            (
                "one before",
                {"previous_response_id": "resp_c3", "input": "x"},
                "/previous_response_id",
            ),
            ("an item", {"input": [named(gone["output"][0])]}, "/input/0"),
            ("no such item", {"input": [user("x"), named(says("a1", 2))]}, "/input/1"),
            ("another server's", {"input": [{"type": "item_reference", "id": "é"}]}, "/input/0"),
            ("a result's", {"input": [{"type": "item_reference", "id": "fc_1"}]}, "/input/0"),
        ):
            with self.subTest(name):
                pointer, detail = self.refused(**body)
                self.assertEqual(pointer, where)
                self.assertIn("send the whole conversation", detail)

    def test_one_answer_before_itself(self) -> None:
        self.there["resp_a1"]["previous_response_id"] = "resp_c3"
        pointer, _ = self.refused(previous_response_id="resp_c3", input="x")
        self.assertEqual(pointer, "/previous_response_id")

    def test_an_item_twice(self) -> None:
        """A thousand names of a large item would be a thousand large items."""
        pointer, detail = self.refused(input=[named(says("a1")), named(says("a1"))])
        self.assertEqual(pointer, "/input/1")
        self.assertIn("already", detail)

    def test_more_than_a_request_may_bring_back(self) -> None:
        """A short request must not be much more work than a long one."""
        references = [named(says(run)) for run in RUNS]
        for size, fits in (
            (responses.MAX_BYTES // 3, True),
            (responses.MAX_BYTES // 3 + 1, False),
        ):
            for where, body in (
                ("/previous_response_id", {"previous_response_id": "resp_c3", "input": "x"}),
                ("/input/2", {"input": references}),
            ):
                with self.subTest(where, size=size):
                    self.setUp()
                    self.size = size
                    if fits:
                        self.assertTrue(self.texts(**body))
                    else:
                        pointer, detail = self.refused(**body)
                        self.assertEqual(pointer, where)
                        self.assertIn("8 MiB", detail)

    def test_no_input(self) -> None:
        bodies: list[Json] = [{}, {"input": []}, {"input": 5}]
        for body in bodies:
            self.assertEqual(self.refused(previous_response_id="resp_a1", **body)[0], "/input")


if __name__ == "__main__":
    unittest.main()

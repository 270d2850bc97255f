"""What people are told of a failed call."""

from __future__ import annotations

import json
import unittest
from typing import Any

from server.models.failure import MAX_QUOTE, Failure, from_chunk, from_status, quote, read_error

from .fakes import KEY


class Words(unittest.TestCase):
    def test_every_vendors_error(self) -> None:
        cases = {
            '{"error":{"message":"m","type":"t"}}': "m",
            '{"error":"m"}': "m",
            '{"message":"m","code":"InvalidApiKey"}': "m",
            '{"detail":"m"}': "m",
            '{"detail":[{"loc":["body"],"msg":"m"}]}': "m",
            '{"base_resp":{"status_code":1,"status_msg":"m"}}': "m",
            '{"code":500,"msg":"m","success":false}': "m",
            '[{"error":{"message":"m"}}]': "m",
            '{"error":{"error":{"message":"m"}}}': "m",
            '{"title":"m","status":400}': "m",
            '"m"': "m",
            "m": "m",
            " m\r\n m\t\0 ": "m m",
            "<html><head><title>m</title></head><b>n</b>": "m n",
            "<p>m<style>p {color: red}</style><script src=x>f(1 < 2)</SCRIPT><!-- <b>x -->n": "m n",
            "<p>m<script>never closed": "m",
            "": "",
            "{}": "{}",
            "<style>" * 9000: "",
            "<!--" * 9000: "",
        }
        for body, wanted in cases.items():
            with self.subTest(body):
                self.assertEqual(read_error(body.encode()), wanted)

    def test_hostile_bodies(self) -> None:
        for body in (b"\xff" * 9, b"[" * 9999, b"<" * 9999, b'{"error":' * 9999, b"x" * 60_000):
            with self.subTest(body[:9]):
                text = read_error(body)
                self.assertLessEqual(len(text), MAX_QUOTE + 1)
                json.dumps(text).encode()

    def test_keys_are_never_quoted(self) -> None:
        for text in (
            f"bad key {KEY}",
            f"Authorization: Bearer {KEY}",
            "Bearer abcdef123456",
            '{"api_key": "abcdef123456"}',
            "x" * (MAX_QUOTE - 5) + KEY,
            "unusual/key+1234",
        ):
            with self.subTest(text):
                said = quote(text, "unusual/key+1234" if "unusual" in text else KEY)
                for secret in (KEY, KEY[:10], "abcdef123456", "unusual"):
                    self.assertNotIn(secret, said)

    def test_half_pairs_and_controls(self) -> None:
        self.assertEqual(quote("a\ud83d\u202eb\x1b[31m", ""), "a\ufffd b [31m")


class Chunks(unittest.TestCase):
    def test_no_failure(self) -> None:
        chunks: list[Any] = [{}, {"choices": []}, {"error": None}, {"error": ""}, {"usage": {}}]
        for chunk in chunks:
            self.assertIsNone(from_chunk(chunk, "main"))

    def test_says_who(self) -> None:
        failure = from_chunk({"error": {"message": f"no {KEY}"}}, "main", KEY)
        assert failure is not None
        self.assertEqual(failure.message, "main failed: no ***")


# (status, what the provider said, the window that it told) of requests that must shrink
OVERFLOWS: list[tuple[int, str, int | None]] = [
    (400, "This model's maximum context length is 8192 tokens. However, you sent 9000", 8192),
    (400, "Your input exceeds the context window of this model.", None),
    (400, "Input length (265330) exceeds model's maximum context length (262144).", 262144),
    (
        429,
        "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 36278",
        30000,
    ),
    (
        413,
        "Request too large for model `m` on tokens per minute (TPM): Limit 8000, Requested 9",
        8000,
    ),
    (400, "prompt is too long: 213462 tokens > 200000 maximum", 200000),
    (400, "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000", 200000),
    (413, "", None),
    (400, "Input is too long for requested model.", None),
    (400, "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).")
    + (1048575,),
    (400, "the input token count is 32825 but model only supports up to 32768.", 32768),
    (400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens")
    + (131072,),
    (400, "Please reduce the length of the messages or completion.", None),
    (400, "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.", 131040),
    (400, "The input (9000 tokens) is longer than the model's context length (4096 tokens).", 4096),
    (400, "the context is overflown, the model has a context length of only 4096 tokens", 4096),
    (400, "prompt token count of 130000 exceeds the limit of 128000", 128000),
    (400, "invalid params, context window exceeds limit (2013)", None),
    (400, "Invalid request: Your request exceeded model token limit: 8192 (requested: 9)", 8192),
    (400, "Prompt contains 40000 tokens, too large for model with 32768 maximum context length")
    + (32768,),
    (400, "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]")
    + (98304,),
    (400, "Prompt too long", None),
    (400, "maximum context length of 128,000 tokens, and you sent 130,000", 128000),
    (400, "Prompt has 40,000 tokens, too large for a model with 32,768 maximum context length")
    + (32768,),
    (400, "the maximum context length is 128k", None),
    (400, "Prompt 超长", None),
    (400, "length of prompt_tokens (40000) must be less than max_seq_len (32768).", 32768),
    (400, "The decoder prompt is longer than the maximum model length of 4096.", 4096),
    (422, "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 9000", None),
    (500, "the input length exceeds the context length", None),
]

GEMINI = """[{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "You exceeded your
current quota, please check your plan and billing details. * Quota exceeded for metric: x/requests,
limit: 10, model: m%s", "details": [%s]}}]"""
DELAY = '{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "36s"}'

# (what was said with a 429, whether it is worth waiting, the seconds that were told)
LIMITS: list[tuple[str, bool, float | None]] = [
    ("slow down", True, None),
    ("You exceeded your current quota, please check your plan and billing details.", False, None),
    (GEMINI % ("\\nPlease retry in 36.5s.", ""), True, 36.5),
    (GEMINI % ("", DELAY), True, 36),
    ('{"error": {"code": "insufficient_quota", "message": "try again in 5s"}}', False, 5),
    ("Rate limit reached for m on TPM: Limit 6000. Please try again in 7.66s. Visit x", True, 7.66),
    ("Please try again in 2m59.56s.", True, 179.56),
    ("Please try again in 1h2m3s", True, 3723),
    ("Please try again in 20ms.", True, 0.02),
    ("Please try again in a while", True, None),
    ("Too many tokens, please wait before trying again.", True, None),
    ("余额不足或无可用资源包,请充值。", False, None),
]


class Limits(unittest.TestCase):
    def test_a_request_that_must_shrink_is_known_whoever_refuses_it(self) -> None:
        for status, said, window in OVERFLOWS:
            body = json.dumps({"error": {"message": said}}).encode()
            chunk = {"error": {"message": said, "code": status}}
            for failure in (from_status(status, {}, body, "main"), from_chunk(chunk, "main")):
                with self.subTest(said, status=status):
                    assert failure is not None
                    self.assertEqual((failure.code, failure.retryable), ("context_overflow", False))
                    self.assertEqual(failure.details.get("n_ctx"), window)

    def test_what_llama_cpp_says_of_sizes(self) -> None:
        error = {"code": 400, "type": "exceed_context_size_error", "n_ctx": 4096}
        failure = from_chunk({"error": {**error, "message": "too large"}}, "main")
        assert failure is not None
        self.assertEqual(failure.details, {"n_ctx": 4096})

    def test_what_else_is_refused_is_not_for_its_size(self) -> None:
        for status, said in (
            (400, "Unsupported value: 'temperature'"),
            (404, "The model `context-length-test` does not exist: context length"),
            (429, "Rate limit: too many tokens in this request, the context window is busy"),
            (401, "no key for the context window"),
            (500, "The request took too long to process"),
            (500, "Your request was in the queue for too long"),
        ):
            with self.subTest(said):
                failure = from_status(status, {}, said.encode(), "main")
                self.assertNotEqual(failure.code, "context_overflow")

    def test_a_limit_that_passes_and_one_that_does_not(self) -> None:
        for said, retryable, pause in LIMITS:
            with self.subTest(said):
                failure = from_status(429, {}, said.encode(), "main")
                self.assertEqual(failure.code, "upstream_rate_limit")
                self.assertEqual((failure.retryable, failure.retry_after), (retryable, pause))


class Refusals(unittest.TestCase):
    def test_a_filter_and_a_used_up_quota_are_told_by_name(self) -> None:
        azure = (
            '{"error":{"code":"content_filter","message":"The response was filtered","status":400}}'
        )
        qwen = '{"code":"DataInspectionFailed","message":"Input data may contain inappropriate"}'
        openai = '{"error":{"code":"insufficient_quota","message":"You exceeded your quota"}}'
        for status, body, reason in (
            (400, azure, "content_filter"),
            (400, qwen, "content_filter"),
            (403, azure, "content_filter"),
            (429, openai, "insufficient_quota"),
            (402, "{}", "insufficient_quota"),
            (400, '{"error":{"message":"bad temperature"}}', None),
            (429, '{"error":{"message":"slow down"}}', None),
            (500, azure, None),
        ):
            with self.subTest(status=status, body=body):
                found = from_status(status, {}, body.encode(), "p")
                self.assertEqual(found.details.get("reason"), reason)
                if reason:
                    self.assertFalse(found.retryable)
        for body, details in (
            (azure, {"status": 400, "reason": "content_filter"}),
            ('{"error":{"code":429,"message":"m"}}', {"status": 429}),
            ('{"error":{"code":1234,"message":"m"}}', {}),
        ):
            with self.subTest(chunk=body):
                failure = from_chunk(json.loads(body), "p")
                assert failure is not None
                self.assertEqual(failure.details, details)

    def test_what_a_model_wrote_badly_may_be_right_the_next_time(self) -> None:
        error = {"message": "Failed to call a function.", "code": "tool_use_failed"}
        body = json.dumps({"error": error}).encode()
        chunk = {"error": {**error, "status_code": 400}}
        for failure in (from_status(400, {}, body, "main"), from_chunk(chunk, "main")):
            assert failure is not None
            self.assertEqual((failure.code, failure.retryable), ("upstream_error", True))

    def test_only_a_key_is_asked_about_as_a_key(self) -> None:
        for status, said, code, asked in (
            (401, "no", "upstream_auth", True),
            (403, "", "upstream_auth", True),
            (403, "Country, region, or territory not supported", "upstream_auth", False),
            (400, "API key not valid. Please pass a valid API key.", "upstream_auth", True),
            (400, "no such field", "upstream_error", False),
        ):
            with self.subTest(said, status=status):
                failure = from_status(status, {}, said.encode(), "main")
                self.assertEqual(failure.code, code)
                self.assertEqual("is the API key right?" in failure.message, asked)


class Events(unittest.TestCase):
    def test_shape(self) -> None:
        event = Failure("upstream_error", "m", details={"status": 500}).event(2)
        self.assertEqual(
            event,
            {
                "type": "RUN_ERROR",
                "message": "m",
                "code": "upstream_error",
                "metadata": {"yaa": {"retryable": True, "attempts": 2, "status": 500}},
            },
        )

    def test_a_redirect_says_what_to_do(self) -> None:
        failure = from_status(301, {"location": "http://x/"}, b"", "main")
        self.assertIn("set api_url to the final address", failure.message)
        self.assertNotIn("http://x/", failure.message)


if __name__ == "__main__":
    unittest.main()

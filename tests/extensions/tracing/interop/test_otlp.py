"""What the exporter sends is what the official protocol buffers of OTLP read, field by field; the
names are those of the official list of conventions."""

from __future__ import annotations

import ast
import base64
import importlib
import json
import unittest
from typing import Any

from server.extensions.tracing import parts, spans
from server.extensions.tracing.exporter import encode
from server.telemetry.trace_context import TraceContext

from ....tooling.source import parsed, paths


def official(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


SERVICE = official("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
JSON_FORMAT = official("google.protobuf.json_format")
CONVENTIONS = official("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")


@unittest.skipUnless(SERVICE and JSON_FORMAT, "opentelemetry-proto is not installed")
class Protocol(unittest.TestCase):
    def test_a_request_is_read_and_nothing_is_unknown(self) -> None:
        parent = TraceContext("4b" * 16, "0a" * 8)
        made = spans.child(parent, "chat m", spans.CLIENT, n=2**40, f=0.5, b=True, s="é", a=["x"])
        made.attributes["content"] = [{"role": "user"}]
        made.start_ns, made.end_ns, made.error = 1_700_000_000_000_000_001, 2**62, "boom"
        sent = json.loads(encode([made], {"service.name": "yaa", "service.version": "1"}))
        # Protocol buffers write bytes as base64, OTLP as hex: the only two places they differ in.
        for span in sent["resourceSpans"][0]["scopeSpans"][0]["spans"]:
            for key in ("traceId", "spanId", "parentSpanId"):
                span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
        read = JSON_FORMAT.ParseDict(sent, SERVICE.ExportTraceServiceRequest())
        span = read.resource_spans[0].scope_spans[0].spans[0]
        self.assertEqual(span.trace_id.hex(), "4b" * 16)
        self.assertEqual(span.parent_span_id.hex(), "0a" * 8)
        self.assertEqual(span.kind, span.SPAN_KIND_CLIENT)
        self.assertEqual(span.start_time_unix_nano, 1_700_000_000_000_000_001)
        self.assertEqual(span.status.code, span.status.STATUS_CODE_ERROR)
        values = {each.key: each.value for each in span.attributes}
        self.assertEqual(values["n"].int_value, 2**40)
        self.assertEqual(values["f"].double_value, 0.5)
        self.assertTrue(values["b"].bool_value)
        self.assertEqual(values["s"].string_value, "é")
        self.assertEqual(values["a"].array_value.values[0].string_value, "x")
        self.assertEqual(json.loads(values["content"].string_value), [{"role": "user"}])


@unittest.skipUnless(CONVENTIONS, "opentelemetry-semantic-conventions is not installed")
class Names(unittest.TestCase):
    def test_every_name_is_in_the_list(self) -> None:
        known = {value for value in vars(CONVENTIONS).values() if isinstance(value, str)}
        nodes = ast.walk(parsed(paths()[parts.__name__]))
        texts = [node.value for node in nodes if isinstance(node, ast.Constant)]
        ours = {text for text in texts if str(text).startswith("gen_ai.")}
        self.assertGreater(len(ours), 15)
        self.assertEqual(sorted(ours - known), [])


if __name__ == "__main__":
    unittest.main()

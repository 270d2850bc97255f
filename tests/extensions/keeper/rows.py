"""Rows of kernel tests' tables, for what this extension adds."""

from __future__ import annotations

WEBHOOK = "/keeper/webhooks/{person}/{id}/{name}"
# Routes without a key: a link has its token, a delivery its signature or token.
OPEN = {("GET", "/keeper/link"), ("POST", "/keeper/link"), ("POST", WEBHOOK)}
ONCE = {"/keeper/link", WEBHOOK}  # a token is used up, and the same delivery counts once
# Nothing in their bodies is looked through: none, a form of 200 bytes, a text that is quoted, or at
# most 100 answers.
SMALL = {
    *("/keeper/sessions/default/run", "/keeper/sessions/default/stop"),
    "/keeper/sessions/default/answers",
    *("/keeper/link", "/keeper/webhooks/default/default/default"),
}

"""Notices by e-mail reach a real mail server, with TLS and a password or not at all."""

from __future__ import annotations

import asyncio
import importlib
import logging
import shutil
import ssl
import subprocess
import tempfile
import unittest
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any

from server.extensions.keeper.mail import Mail
from server.extensions.keeper.notices import Notice
from server.extensions.keeper.senders import SendError

PASSWORD = "canary-5f1c"
NOTICE = Notice(
    "asks", "A session asks – 会话", "Tool: shell\nrm -r build", "https://yaa.example/l?t=x"
)


def peer(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


SMTP, CONTROLLER = peer("aiosmtpd.smtp"), peer("aiosmtpd.controller")


class Box:
    """What has arrived, and with which user and password."""

    def __init__(self, refuses: str = "") -> None:
        self.messages: list[Any] = []
        self.users: list[str] = []
        self.encrypted: list[bool] = []
        self.refuses = refuses

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        if self.refuses:
            return self.refuses
        self.messages.append(
            (envelope, message_from_bytes(envelope.content, policy=policy.default))
        )
        self.encrypted.append(session.ssl is not None)
        return "250 OK"

    def authenticate(self, server: Any, session: Any, envelope: Any, way: str, given: Any) -> Any:
        self.users.append(given.login.decode())
        good = given.password == PASSWORD.encode()
        return SMTP.AuthResult(success=good, handled=False)


@unittest.skipUnless(SMTP and shutil.which("openssl"), "needs aiosmtpd, and openssl")
class Mails(unittest.IsolatedAsyncioTestCase):
    server_side: ssl.SSLContext
    trusting: ssl.SSLContext

    @classmethod
    def setUpClass(cls) -> None:
        logging.getLogger("mail.log").setLevel(logging.CRITICAL)  # of aiosmtpd
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cert, key = folder / "cert", folder / "key"
        command = [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
        ]
        command += ["-nodes", "-days", "2", "-keyout", str(key), "-out", str(cert)]
        command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
        subprocess.run(command, check=True, capture_output=True)
        cls.server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        cls.server_side.load_cert_chain(cert, key)
        cls.trusting = ssl.create_default_context(cafile=str(cert))

    async def serve(self, box: Box, *, implicit: bool = False, starttls: bool = True) -> int:
        more: dict[str, Any] = {"hostname": "localhost", "authenticator": box.authenticate}

        def make() -> Any:
            tls = self.server_side if starttls and not implicit else None
            return SMTP.SMTP(box, **more, tls_context=tls, auth_require_tls=not implicit)

        loop, tls = asyncio.get_running_loop(), self.server_side if implicit else None
        server = await loop.create_server(make, "127.0.0.1", 0, ssl=tls)
        self.addAsyncCleanup(server.wait_closed)
        self.addCleanup(server.close)
        port: int = server.sockets[0].getsockname()[1]
        return port

    def mail(self, url: str, password: str = PASSWORD, **more: Any) -> Mail:
        return Mail(
            url, "yaa@example.org", "ann@example.org", password, more.get("tls", self.trusting)
        )

    async def failure(self, mail: Mail) -> str:
        with self.assertRaises(SendError) as caught:
            await mail.send(NOTICE)
        self.assertNotIn(PASSWORD, str(caught.exception))
        return str(caught.exception)

    async def test_it_arrives_over_tls_with_a_password(self) -> None:
        for scheme in ("smtp", "smtps"):
            with self.subTest(scheme):
                box = Box()
                port = await self.serve(box, implicit=scheme == "smtps")
                await self.mail(f"{scheme}://ann%40x@localhost:{port}").send(NOTICE)
                ((envelope, message),) = box.messages
                self.assertEqual(box.users, ["ann@x"])
                self.assertEqual(box.encrypted, [scheme == "smtp"])  # else the socket is
                self.assertEqual(envelope.rcpt_tos, ["ann@example.org"])
                self.assertEqual(message["Subject"], NOTICE.title)
                self.assertEqual(message["Auto-Submitted"], "auto-generated")
                text = "\n".join(message.get_content().splitlines())
                self.assertEqual(text, f"{NOTICE.text}\n\n{NOTICE.link}")

    async def test_no_password_and_no_text_without_tls(self) -> None:
        box = Box()
        port = await self.serve(box, starttls=False)
        self.assertIn(
            "SMTPNotSupportedError", await self.failure(self.mail(f"smtp://ann@localhost:{port}"))
        )
        self.assertEqual((box.messages, box.users), ([], []))

    async def test_a_certificate_that_nobody_trusts(self) -> None:
        box = Box()
        port = await self.serve(box)
        strange = ssl.create_default_context()
        mail = self.mail(f"smtp://ann@localhost:{port}", tls=strange)
        self.assertIn("SSLCertVerificationError", await self.failure(mail))
        self.assertIn(
            "SSLCertVerificationError",
            await self.failure(self.mail(f"smtp://ann@127.0.0.1:{port}")),
        )
        self.assertEqual((box.messages, box.users), ([], []))

    async def test_this_machine_may_take_it_without(self) -> None:
        box = Box()
        port = await self.serve(box, starttls=False)
        await self.mail(f"smtp://127.0.0.1:{port}").send(NOTICE)
        self.assertEqual((len(box.messages), box.encrypted), (1, [False]))

    async def test_a_wrong_password_and_a_refusal(self) -> None:
        box = Box("554 No spam")
        port = await self.serve(box)
        wrong = await self.failure(self.mail(f"smtp://ann@localhost:{port}", "wrong"))
        self.assertEqual(wrong, "no mail was taken (SMTPAuthenticationError 535)")
        refused = await self.failure(self.mail(f"smtp://ann@localhost:{port}"))
        self.assertEqual(refused, "no mail was taken (SMTPDataError 554)")

    async def test_nobody_there(self) -> None:
        self.assertIn("Error", await self.failure(self.mail("smtps://ann@localhost:1")))


class Addresses(unittest.TestCase):
    def test_what_cannot_be_used_is_refused(self) -> None:
        good = ("smtp://a@h:587", "a@b.c", "d@e.f")
        Mail(*good)
        for at, value in (
            (0, "http://h"),
            (0, "smtp://"),
            (0, "smtp://a:password@h"),
            (1, "a@b.c\nBcc: x@y.z"),
            (2, "d@e.f\r\nBcc: x@y.z"),
            (2, "d@e.f, x@y.z"),
            (2, "nobody"),
        ):
            given = [*good]
            given[at] = value
            with self.subTest(value), self.assertRaises(ValueError):
                Mail(given[0], given[1], given[2])


if __name__ == "__main__":
    unittest.main()

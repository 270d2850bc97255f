"""Send notices by e-mail. Imported where the owner has named such a way."""

from __future__ import annotations

import asyncio
import secrets
import smtplib
import ssl
from email.message import EmailMessage
from urllib.parse import unquote, urlsplit

from ...lib.http.parser import is_loopback
from .notices import Notice
from .senders import SendError

SMTP_S = 20.0  # of silence


class Mail:
    """An address for e-mail, by the server of a provider.

    url   smtps://USER@HOST:465, or smtp://USER@HOST:587, which must change to TLS unless it is on
          this machine
    """

    def __init__(
        self,
        url: str,
        sender: str,
        address: str,
        password: str = "",
        tls: ssl.SSLContext | None = None,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("smtp", "smtps") or not parts.hostname or parts.password:
            raise ValueError("the url of a mail server is smtps://USER@HOST or smtp://USER@HOST")
        if (
            any(sign in each for each in (sender, address) for sign in "\r\n,;")
            or "@" not in address
        ):
            raise ValueError("from and address are one e-mail address each")
        self._implicit, self._host = parts.scheme == "smtps", parts.hostname
        self._port = parts.port or (465 if self._implicit else 587)
        self._user, self._password = unquote(parts.username or ""), password
        self._from, self._to = sender, address
        self._tls = tls or ssl.create_default_context()

    async def send(self, notice: Notice) -> None:
        """Send a notice. Raises SendError."""
        try:
            await asyncio.to_thread(self._send, self._message(notice))
        except (OSError, smtplib.SMTPException, ValueError) as error:
            code = getattr(error, "smtp_code", "")
            raise SendError(
                f"no mail was taken ({type(error).__name__} {code}".rstrip() + ")"
            ) from None

    def _message(self, notice: Notice) -> EmailMessage:
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = self._from, self._to, notice.title
        message["Auto-Submitted"] = "auto-generated"  # RFC 3834: nobody's absence answers it
        message["Message-ID"] = f"<{secrets.token_hex(16)}@yaa.invalid>"
        message.set_content("\n\n".join(filter(None, (notice.text, notice.link))))
        return message

    def _send(self, message: EmailMessage) -> None:
        if self._implicit:
            server: smtplib.SMTP = smtplib.SMTP_SSL(
                self._host, self._port, timeout=SMTP_S, context=self._tls
            )
        else:
            server = smtplib.SMTP(self._host, self._port, timeout=SMTP_S)
        with server:
            if not self._implicit and not (is_loopback(self._host) and not self._user):
                server.starttls(context=self._tls)  # raises where there is none
            if self._user:
                server.login(self._user, self._password)
            server.send_message(message)

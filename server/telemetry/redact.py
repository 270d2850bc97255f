"""Mask secrets in everything that is written down: log lines, error texts, traces.

There are two ways. `mask_values` looks at structure: a value is replaced if its key names a secret.
`mask` looks at text: it replaces registered values, then values after a name (headers, JSON, query,
command line, XML, prose), then the formats of vendors' keys. A harmless word may be masked if that
avoids a leaked key; but counters such as `max_tokens: 5`, hashes and identifiers stay readable.
Every pattern takes time linear in its text: each part is bounded, or ends where the next begins.

Not found: a secret without a name, a vendor's format or a registration, such as a password of plain
words in the middle of a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from typing import Any

from ..lib.runtime.secret_filter import MASK

MIN_SECRET = 6  # masking shorter ones would hide ordinary words
LONG = 16
SHORT = 64  # characters of texts whose masked form is remembered

_secrets: set[str] = set()


def register(secrets: Iterable[str]) -> None:
    """Register exact values that `mask` always replaces. Those under MIN_SECRET are ignored."""
    _secrets.update(secret for secret in secrets if len(secret) >= MIN_SECRET)
    _mask_short.cache_clear()
    _are_harmless.cache_clear()


def mask_values(value: Any) -> Any:
    """Return a copy of JSON-shaped `value` with the values of secret keys masked.

    Other types are returned unchanged.
    """
    if isinstance(value, dict):
        pair = _names_secret(value)
        return {
            key: MASK
            if _hides_value(item) and (is_secret(key) or (pair and key == "value"))
            else mask_values(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return type(value)(mask_values(item) for item in value) if type(value) in _PLAIN else value
    return value


def mask_all(value: Any) -> Any:
    """Return `mask_values(value)` with `mask` applied to every string in it."""
    shown = mask_flat(value)
    return _mask_texts(mask_values(value)) if shown is None else shown


def mask_flat(value: Any) -> dict[str, Any] | None:
    """Return `mask_all` of an object of numbers and short texts, None for anything else.

    Most log lines are such objects. An object with a key that may name a secret is none.
    """
    if type(value) is not dict or not _are_harmless(tuple(value)):  # they have the same few keys
        return None
    shown = {}
    for key, item in value.items():
        kind = type(item)
        if kind is str and len(item) <= SHORT:
            shown[key] = _mask_short(item)
        elif kind in _NUMBERS:
            shown[key] = item
        else:
            return None
    return shown


@lru_cache(maxsize=256)
def _are_harmless(keys: tuple[Any, ...]) -> bool:
    """Return whether an object with these keys may hold secrets only within its values."""
    if "value" in keys:  # of a header's pair
        return False
    return not any(type(key) is not str or is_secret(key) or mask(key) != key for key in keys)


def mask(text: str) -> str:
    """Replace everything in `text` that is registered or looks like a secret by MASK."""
    return _mask_short(text) if len(text) <= SHORT else _mask_escaped(text)


def _mask_escaped(text: str) -> str:
    shown = _mask_text(text)
    if "\\u" not in shown:
        return shown
    plain = _ESCAPE.sub(_unescape, shown)  # JSON with escaped names
    again = _mask_text(plain)
    return shown if again == plain else again


_mask_short = lru_cache(maxsize=2_048)(
    _mask_escaped
)  # ids, names and states come again in many lines


def _mask_text(text: str) -> str:
    for secret in sorted(_secrets, key=len, reverse=True):
        if secret in text:
            text = text.replace(secret, MASK)
    if "eyJ" in text:
        text = _JWT().sub(rf"\1{MASK}", text)
    text = _ADDRESS().sub(_keep_name, _SHAPE().sub(MASK, _PEM().sub(MASK, text)))
    lower = text.lower()
    if not any(map(lower.__contains__, _STEMS)):
        return text
    text = _HEADER().sub(rf"\1{MASK}", text)
    text = _LISTED().sub(rf"\1{MASK}", text)
    text = _PAIR().sub(_mask_pair, text)
    text = _SCHEME().sub(rf"\1{MASK}", text)
    text = _COMMAND().sub(rf"\1{MASK}", text)
    return _PROSE().sub(_keep_name, text)


def credentials(named: Iterable[tuple[str, Any]]) -> list[str]:
    """Return the credentials among (name, value) pairs of headers and variables, the longest first.

    These are: values whose names say so, and the part after the space of `Bearer x`; under other
    names, except those of identifiers, words that look random; passwords in URLs.
    """
    found: list[str] = []
    for name, value in named:
        if not isinstance(value, str):
            continue
        if _CREDENTIAL().search(name) or is_secret(name):
            found += [value, value.partition(" ")[2].strip()]
        elif "://" in value or not _identifies(name):
            found += (part for word in value.split() for part in _parts(word) if _is_key(part))
        found += (each for each in _PASSWORD.findall(value) if not _is_common(each, value))
    return sorted({each for each in found if len(each) >= MIN_SECRET}, key=len, reverse=True)


def _parts(word: str) -> list[str]:
    """Split a URL without its host into its parts; any other word is returned whole."""
    return _PARTS.split(_HOST.sub(r"\1", word)) if "://" in word else [word]


def _is_key(word: str) -> bool:
    """Return whether a word looks random and is no path: letters and digits alternate often."""
    runs = _RUN.findall(word) if not word.startswith(("/", ".", "~", "-")) else ()
    return any(len(_LETTERS_OR_DIGITS.findall(run)) > 3 for run in runs)


def _is_common(password: str, address: str) -> bool:
    """Return whether a password in a URL is a common word: postgres:postgres, me:password."""
    return address.count(password) > 1 or bool(_SECRET_KEY().fullmatch(password))


def keys_in(query: Mapping[str, Any]) -> list[str]:
    """Return the values of a configured query that are keys, the longest first.

    These are values whose name says so, and those of LONG characters or more that are not under an
    identifier's name.
    """
    found = {
        text
        for name, text in query.items()
        if isinstance(text, str) and not _identifies(name)
        if len(text) >= (MIN_SECRET if is_secret(name) else LONG)
    }
    return sorted(found, key=len, reverse=True)


def is_secret(key: Any) -> bool:
    """Return whether a key names a secret: `apiKey`, `client_secret`; not `max_tokens`."""
    text = str(key)
    return _is_secret_short(text) if len(text) <= SHORT else _is_secret(text)


def _is_secret(key: str) -> bool:
    words = _words(key)
    return words == "key" or _SECRET_KEY().search(words) is not None


_is_secret_short = lru_cache(maxsize=2_048)(_is_secret)


def _identifies(key: Any) -> bool:
    """Return whether a key names an identifier, which results repeat: `database_id`."""
    return _IDENTIFIER().search(_words(key)) is not None


def _words(key: Any) -> str:
    return _CAMEL.sub(r"\1_\2", str(key)).replace("-", "_").replace(" ", "_").lower()


def _mask_texts(value: Any) -> Any:
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        return {mask(str(key)): _mask_texts(item) for key, item in value.items()}
    return [_mask_texts(item) for item in value] if isinstance(value, list | tuple) else value


def _names_secret(value: dict[Any, Any]) -> bool:
    """Return whether this is `{"name": "authorization", "value": …}`, a common form of headers."""
    name = value.get("name", value.get("key"))
    return "value" in value and isinstance(name, str) and is_secret(name)


def _hides_value(value: Any) -> bool:
    return value is not None and value != "" and not isinstance(value, bool)


def _mask_pair(match: re.Match[str]) -> str:
    value = match[2]
    if value in ("null", "None", "true", "false", "True", "False", "{", MASK):
        return match[0]
    quote = _QUOTE.match(value)
    return f"{match[1]}{quote[0]}{MASK}{quote[0]}" if quote else f"{match[1]}{MASK}"


def _unescape(match: re.Match[str]) -> str:
    code = int(match[1], 16)
    return match[0] if code < 32 or code in (34, 92) or 0xD800 <= code < 0xE000 else chr(code)


def _keep_name(match: re.Match[str]) -> str:
    return f"{match[1] or match[2]}{MASK}"


def _late(pattern: str, flags: int = 0) -> Callable[[], re.Pattern[str]]:
    """Return a function that compiles the pattern at its first use.

    Compiling all of them at import would take 10 ms, as much as opening a port.
    """
    return cache(lambda: re.compile(pattern, flags))


_NUMBERS = (int, float, bool, type(None))
_PLAIN = (list, tuple)  # a named tuple cannot be rebuilt from one iterable
_ESCAPE = re.compile(r"\\{1,8}u([0-9a-fA-F]{4})")
_CAMEL = re.compile(r"([a-z0-9])([A-Z])")
_RUN = re.compile(rf"(?<!sha256:)(?<![A-Za-z0-9])[A-Za-z0-9]{{{LONG},}}")
_LETTERS_OR_DIGITS = re.compile(r"[A-Za-z]+|[0-9]+")
_HOST = re.compile(r"(://(?:[^/?#]*@)?)[^/?#]+")
_PARTS = re.compile(r"[/?&=#@:]")
_PASSWORD = re.compile(r"://[^/\s:@]{0,256}:([^/\s@]{1,256})@")
_QUOTE = re.compile(r"\\*[\"']")

# -- names ----------------------------------------------------------------------------------------

# The usual names (authorization, api key, token, secret, password), those that providers and tools
# of this server use, and the commonest words of other languages.
_BEGIN = r"(?:\b|(?<=\\[nrt]))"  # of a word, also after an escaped line break in JSON
_GAP = r"(?:[ _.-]|%5[fF])?"
_PASSWORDS = (
    r"passwords?|passwd|passphrase|passcode|passwort|kennwort|contrase(?:ñ|n)a|senha"
    r"|mot de passe|пароль|パスワード|비밀번호|密码|密碼|口令"
)
_WORDS = (
    rf"authorization|(?:api|access|private|secret|signing|account|license|encryption|master)"
    rf"{_GAP}keys?|token|secrets?|pwd|cookies?|credentials?|jwt|connection{_GAP}string"
    rf"|令牌|密钥|密鑰|私钥|凭证|{_PASSWORDS}"
)
# A text without any of these contains no name. Most lines have none, and take a tenth of the time.
_STEMS = (
    *("key", "token", "secret", "pass", "pwd", "auth", "cookie", "credential", "jwt", "otp", "sig"),
    *("connection", "code", "bearer", "basic", "digest", "mysql", " -u", "--user", "kennwort"),
    *(
        "contrase",
        "senha",
        "mot de",
        "парол",
        "パスワ",
        "비밀번",
        "密",
        "令牌",
        "私钥",
        "凭证",
        "口令",
    ),
)
_SECRET_KEY = _late(
    rf"(?:(?:^|_)(?:{_WORDS}|auth|pass|otp|signature|mcp_session_id)|apikeys?|accesstoken"
    r"|secretkey|sessiontoken|令牌|密钥|私钥|密码|口令)$"
)

# Except ids of sessions and applications: these work like keys.
_IDENTIFIER = _late(
    r"(?:^|_)(?:(?<!session_)(?<!app_)ids?|uuid|ref|name|project|repo(?:sitory)?|branch|commit|sha"
    r"|version|digest|image|container|host|database|db|bucket|model)$"
)

_CREDENTIAL = _late(r"(?:key|token|secret|auth|authorization|passw(?:or)?d|cookie)$", re.IGNORECASE)

# A header's value extends to the end of the line and may contain spaces.
_HEADER = _late(
    r"((?:authorization|cookie)\s{0,4}[:=]\s{0,4})(?![\"'\\\s])[^\r\n\"']+", re.IGNORECASE
)

# Headers as pairs: ('authorization', 'x'), b"cookie", b"x", {"name": "x-api-key", "value": "x"}.
_LISTED = _late(
    r"((?:authorization|cookie|api-key|auth-token)\\{0,4}[\"']\s{0,4},\s{0,4}"
    r"(?:\\{0,4}[\"']value\\{0,4}[\"']\s{0,4}:\s{0,4})?b?\\{0,4}[\"'])[^\"'\r\n]+",
    re.IGNORECASE,
)

# name, separator, value; quotes may be escaped (JSON inside JSON).
_PAIR = _late(
    rf"((?:{_WORDS}|(?:(?<![a-z])|(?<=\\[nrt]))(?:pass|auth|otp)"
    r"|(?<=[?#&])(?:key|code|sig|signature|[\w-]{1,20}-signature))"
    r"(?:\\{0,16}[\"']?\s{0,4}(?:[:=：＝]|%3[dD])\s{0,4}|>))"
    r"(\"(?:[^\"\\]|\\.)*\"?|'(?:[^'\\]|\\.)*'?|\\{1,16}\"[^\"]*\"?|\[[^\]]*\]?"
    r"|[^\s,;&}\])\"'\\<]+)",
    re.IGNORECASE,
)
_SCHEME = _late(
    rf"{_BEGIN}"
    + r"((?i:bearer)\s{1,4}(?!(?i:token|auth|scheme|header|key|is|was|and|or|in|of|for|to)\w*\b)"
    r"|(?i:yaa-api-key)\s{1,4}"
    r"|(?:Basic|Digest|Token)\s{1,4}(?=[\w+/=-]{8})(?=[A-Za-z]{0,64}(?:[0-9=+/]|[a-z][A-Z])))"
    r"[\w.~+/=:-]+"
)

# Options of programs: --password x, curl -u me:x, mysql -px.
_COMMAND = _late(
    rf"((?:(?<![\w-])|(?<=\\[nrt]))--?(?:[\w-]{{0,20}}-)?(?:{_WORDS}|pass)\s{{1,4}}"
    r"|\s(?:-u|--user)[ =]{1,4}[^\s:]{1,64}:|mysql\w{0,10}(?=\s)[^\n]{0,80}?\s-p)(?![\s-])[^\s\\]+",
    re.IGNORECASE,
)

# "the password is x", "use the token x": a word that is no adjective, or looks random.
_NOT_ADJECTIVE = (
    r"(?!(?:required|wrong|invalid|missing|incorrect|correct|empty|set|not|in|on|the|a|an|too|for"
    r"|of|and|or|to|no|stored|hashed|expired|optional|needed|unknown|never|always|being|now|also"
    r"|only|used|sent|what|that|this|it|there|valid|weak|strong|changed|protected|kept)(?![\w-]))"
)
_CHANCE = r"(?=\w{0,64}[a-z])(?=\w{0,64}[A-Z])(?=[^\s\d]{0,64}\d)"
_PROSE = _late(
    rf"((?i:(?:{_PASSWORDS})(?:\s{{1,4}}(?:is|was|ist|lautet|es|est)\s{{1,4}}[\"'`]?"
    rf"|\s{{0,2}}[是为]\s{{0,2}}){_NOT_ADJECTIVE}))[^\s\"'`,;。，\\]{{4,}}"
    rf"|((?i:(?:{_WORDS}|key)(?:\s{{1,4}}(?:is|was)\s{{1,4}}|\s{{0,2}}[是为]\s{{0,2}}|\s{{1,4}})"
    rf"[\"'`]?)(?:(?=[^\s\d]{{0,64}}\d)(?<=[是为])|{_CHANCE}))[^\s\"'`,;。，\\]{{8,}}"
)

# -- shapes ---------------------------------------------------------------------------------------

# The formats of vendors' keys, from their documentation and the rules of public secret scanners.
# One \b for all of them takes 0.1 µs a character instead of 1.
_SHAPE = _late(
    rf"{_BEGIN}"
    + r"(?:(?:sk|rk|pk|csk)[-_][\w-]{8,}|sk_(?:live|test)_\w+|whsec_\w{8,}"  # models, payment
    r"|(?:gsk|hf|r8|fw|jina)_[\w-]{10,}|(?:nvapi|tvly)-[\w-]{10,}|(?:xai|pplx|fc)-\w{10,}"
    r"|pa-[\w-]{30,}|ABSK[\w+/=]{20,}"  # and not the names of models: jina-clip-v2
    r"|gh[pousr]_\w{16,}|github_pat_\w+|glpat-[\w-]{10,}|glsa_\w{16,}"  # code hosts
    r"|npm_\w{20,}|pypi-[\w-]{16,}|rubygems_\w{16,}|dckr_pat_[\w-]{10,}"
    r"|ATATT3[\w=-]{10,}|lin_api_\w{10,}|figd_[\w-]{10,}|ntn_\w{16,}"
    r"|xox[abeprs]-[\w-]+|xapp-[\w-]{10,}|(?:bot)?\d{6,12}:AA[\w-]{8,}"  # chat
    r"|(?:AKIA|ASIA|LTAI|AKID)[0-9A-Za-z]{12,}|AIza[\w-]{20,}|ya29\.[\w-]+"  # clouds
    r"|GOCSPX-[\w-]{10,}|do[opr]_v1_\w{16,}|dapi[0-9a-f]{32}|hv[sb]\.[\w-]{10,}"
    r"|SG\.[\w-]{8,}\.[\w-]{8,}|SK[0-9a-f]{32}\b|key-[0-9a-f]{32}\b|shp[acps][ats]_\w{16,}"
    r"|sntry[su]_\w{10,}|bce-v3/[\w/-]{10,}|[0-9a-f]{32}\.[0-9A-Za-z]{16}\b"
    r"|AGE-SECRET-KEY-1\w+)"
)
# A JSON Web Token (RFC 7519). Each run of its characters is scanned once, from its beginning: a
# search that starts at each eyJ would take quadratic time.
_JWT = _late(
    rf"(?<![\w-])(?=[\w-]{{11,}}+\.)((?:(?!{_BEGIN}eyJ[\w-]{{8}})[\w-])*+)"
    r"eyJ[\w-]++(?:\.[\w-]*+){1,4}"
)
_PEM = _late(
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!----END))*"  # RFC 7468
)
_ADDRESS = _late(
    r"(://)(?:[^/\s:@]{0,256}:[^/\s@]{1,256}|(?=[A-Za-z_-]{0,64}\d)[^/\s:@]{10,256})(?=@)"
    r"|(/services/(?=T)|/api/webhooks/(?=\d))\w{2,}/[\w/-]{8,}"  # RFC 3986 3.2.1; chat hooks
)

"""Secrets out of whatever is written down: log lines, error texts, traces.

It works twice. `masked` looks at structure: a value whose key names a secret is replaced, whatever
it looks like. `mask` looks at text: exact values that were `register`ed, then names with a value
behind them (headers, JSON, query, command line, XML, prose), then the shapes that vendors give
their keys. The rule of the file: better one harmless word masked than one key written; but
counters such as `max_tokens: 5`, hashes and identifiers stay readable. Every pattern is linear in
its text: each part is bounded, or ends where the next one begins.

What it cannot know: a secret without a name, a vendor's shape or a registration, such as a
password of plain words in the middle of a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

MASK = "***"
MIN_SECRET = 6  # a shorter exact secret would blacken ordinary words
LONG = 16

_secrets: set[str] = set()


def register(secrets: Iterable[str]) -> None:
    """Remember exact values that nothing may hold, whatever they look like."""
    _secrets.update(secret for secret in secrets if len(secret) >= MIN_SECRET)


def masked(value: Any) -> Any:
    """A copy of JSON-shaped `value` without what its keys call secret; other types unchanged."""
    if isinstance(value, dict):
        pair = _names_secret(value)
        return {
            key: MASK
            if _hides(item) and (is_secret(key) or (pair and key == "value"))
            else masked(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return type(value)(masked(item) for item in value) if type(value) in _PLAIN else value
    return value


def masked_whole(value: Any) -> Any:
    """`masked`, and `mask` on every string in it: JSON that leaves the process as it is."""
    return _texts_masked(masked(value))


def mask(text: str) -> str:
    """`text` with everything that looks like a secret, or is a registered one, replaced."""
    shown = _masked_text(text)
    if "\\u" not in shown:
        return shown
    plain = _ESCAPE.sub(_unescaped, shown)  # JSON that spells its names in ASCII
    again = _masked_text(plain)
    return shown if again == plain else again


def _masked_text(text: str) -> str:
    for secret in sorted(_secrets, key=len, reverse=True):
        if secret in text:
            text = text.replace(secret, MASK)
    if "eyJ" in text:
        text = _JWT().sub(rf"\1{MASK}", text)
    text = _ADDRESS().sub(_keep_name, _SHAPE().sub(MASK, _PEM().sub(MASK, text)))
    lower = text.lower()
    if not any(stem in lower for stem in _STEMS):
        return text
    text = _HEADER().sub(rf"\1{MASK}", text)
    text = _LISTED().sub(rf"\1{MASK}", text)
    text = _PAIR().sub(_mask_pair, text)
    text = _SCHEME().sub(rf"\1{MASK}", text)
    text = _COMMAND().sub(rf"\1{MASK}", text)
    return _PROSE().sub(_keep_name, text)


def credentials(named: Iterable[tuple[str, Any]]) -> list[str]:
    """What somebody is known by, of headers and variables, the longest first: values whose names
    say so, and of `Bearer x` also x; keys under any name but an identifier's, and in addresses;
    passwords there."""
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
    """Of an address all but its host, which its links have; any other word whole."""
    return _PARTS.split(_HOST.sub(r"\1", word)) if "://" in word else [word]


def _is_key(word: str) -> bool:
    """Whether it looks made by chance, and is no path: words and numbers do not alternate like
    this."""
    runs = _RUN.findall(word) if not word.startswith(("/", ".", "~", "-")) else ()
    return any(len(_LETTERS_OR_DIGITS.findall(run)) > 3 for run in runs)


def _is_common(password: str, address: str) -> bool:
    """Whether it is as good as none, and a word of every text: postgres:postgres, me:password."""
    return address.count(password) > 1 or bool(_SECRET_KEY().fullmatch(password))


def keys_in(query: Mapping[str, Any]) -> list[str]:
    """Of an owner's part of an address the values that are keys: by their name, or because they are
    longer than any `metric` and no identifier; the longest first."""
    found = {
        text
        for name, text in query.items()
        if isinstance(text, str) and not _identifies(name)
        if len(text) >= (MIN_SECRET if is_secret(name) else LONG)
    }
    return sorted(found, key=len, reverse=True)


def cleared(value: Any, secrets: Iterable[str]) -> Any:
    """A copy of JSON-shaped `value` without these exact texts, and else unchanged: for what people
    and models go on working with."""
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, MASK)
        return value
    if isinstance(value, dict):
        return {cleared(key, secrets): cleared(item, secrets) for key, item in value.items()}
    return [cleared(item, secrets) for item in value] if isinstance(value, list) else value


def is_secret(key: Any) -> bool:
    """Whether a key names a secret: `apiKey`, `X-Api-Key`, `client_secret`; not `max_tokens`."""
    words = _words(key)
    return words == "key" or _SECRET_KEY().search(words) is not None


def _identifies(key: Any) -> bool:
    """Whether a key says which one something is, and so is what results repeat: `database_id`."""
    return _IDENTIFIER().search(_words(key)) is not None


def _words(key: Any) -> str:
    return _CAMEL.sub(r"\1_\2", str(key)).replace("-", "_").replace(" ", "_").lower()


def _texts_masked(value: Any) -> Any:
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        return {mask(str(key)): _texts_masked(item) for key, item in value.items()}
    return [_texts_masked(item) for item in value] if isinstance(value, list | tuple) else value


def _names_secret(value: dict[Any, Any]) -> bool:
    """Whether this is `{"name": "authorization", "value": …}`, as headers are often written."""
    name = value.get("name", value.get("key"))
    return "value" in value and isinstance(name, str) and is_secret(name)


def _hides(value: Any) -> bool:
    return value is not None and value != "" and not isinstance(value, bool)


def _mask_pair(match: re.Match[str]) -> str:
    value = match[2]
    if value in ("null", "None", "true", "false", "True", "False", "{", MASK):
        return match[0]
    quote = _QUOTE.match(value)
    return f"{match[1]}{quote[0]}{MASK}{quote[0]}" if quote else f"{match[1]}{MASK}"


def _unescaped(match: re.Match[str]) -> str:
    code = int(match[1], 16)
    return match[0] if code < 32 or code in (34, 92) or 0xD800 <= code < 0xE000 else chr(code)


def _keep_name(match: re.Match[str]) -> str:
    return f"{match[1] or match[2]}{MASK}"


def _late(pattern: str, flags: int = 0) -> Callable[[], re.Pattern[str]]:
    """A pattern that is compiled when it is first used: all of them take 10 ms, as much as opening
    a port, and nothing is masked before."""
    return cache(lambda: re.compile(pattern, flags))


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

# The list of seed 001 (authorization, api key, tokens, secret, password), what else the providers
# and tools of this server call their secrets, and the commonest words of other languages.
_BEGIN = r"(?:\b|(?<=\\[nrt]))"  # of a word, also behind a line break that JSON has escaped
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
# A text without any of these names nothing: most lines, in a tenth of the time.
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

# Not of a session or an application: those are as good as keys.
_IDENTIFIER = _late(
    r"(?:^|_)(?:(?<!session_)(?<!app_)ids?|uuid|ref|name|project|repo(?:sitory)?|branch|commit|sha"
    r"|version|digest|image|container|host|database|db|bucket|model)$"
)

_CREDENTIAL = _late(r"(?:key|token|secret|auth|authorization|passw(?:or)?d|cookie)$", re.IGNORECASE)

# A header's value goes on to the end of its line and may hold spaces.
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

# "the password is x", "use the token x": a word that is no adjective, or looks made by chance.
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

# What the vendors' keys look like, by their documentation and the rules of public secret scanners.
# One \b for all of them: 0.1 µs a character instead of 1.
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
# A JSON Web Token in a run of such characters. Each run is looked at once, from its beginning: a
# search that begins at each eyJ reads the rest of the run again and again.
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

"""What is not printed of a setting: passwords and tokens, wherever they stand in a value.

Rather too much is hidden than too little. Knows how credentials are written, not what they open.
"""

from __future__ import annotations

import re

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE", re.IGNORECASE)
_CONNECTION = re.compile(r"(.*_)?(URL|URI|DSN|CONN(ECTION)?(_STRING|_STR)?)", re.IGNORECASE)
# scheme://user:password@host; a password may hold a slash or an @, though it ought not to.
_USER_AND_PASSWORD = re.compile(r"(?P<head>\w[\w+.-]*://[^\s:/@?#]*:)[^\s]*(?=@)")
# https://token@host; the git in ssh://git@host is no secret.
_TOKEN = re.compile(r"(?P<head>https?://)[^\s:/@?#]+(?=@)", re.IGNORECASE)
# ?password=…  ;Pwd=…;  host=db password=…  -H "Authorization: Bearer …"
_NAMED = re.compile(
    r"""(?P<head>[\w-]*(?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key
        |signature|accountkey|credential|\bsig)[\w-]*\s*=\s*)(?:'[^']*'|"[^"]*"|[^\s&;,'"]+)""",
    re.VERBOSE | re.IGNORECASE,
)
_HEADER = re.compile(r"(?P<head>\b(?:Bearer|Basic)\s+)[\w.~+/=-]+", re.IGNORECASE)
# user:password@tcp(host)/name, as Go writes it
_BARE = re.compile(r"(?P<head>^[^\s:/@]*:)[^\s]*(?=@)")
_HIDDEN = r"\g<head>***"


def masked(text: str) -> str:
    """A text without the credentials in it."""
    for pattern in (_USER_AND_PASSWORD, _TOKEN, _NAMED, _HEADER):
        text = pattern.sub(_HIDDEN, text)
    return text


def masked_variable(name: str, value: str) -> str:
    """A variable's value; of one whose name says that it is a secret, only that it is set."""
    if _SECRET.search(name):
        return "(set)"
    if _CONNECTION.fullmatch(name) and "://" not in value:
        value = _BARE.sub(_HIDDEN, value)
    return masked(value)

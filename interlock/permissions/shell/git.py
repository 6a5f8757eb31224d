"""How git is told to run other commands: by its configuration, and by options of its own."""

from __future__ import annotations

import re

from interlock.permissions.shell.line import Word

# Settings in which git looks for no command.
_SAFE = re.compile(
    r"(?i)(?:user\.(?:name|email)|color\.[\w.]+|advice\.\w+|core\.(?:quotepath|autocrlf|filemode"
    r"|abbrev|safecrlf|longpaths|eol)|commit\.gpgsign|tag\.gpgsign|log\.\w+|init\.defaultbranch"
    r"|safe\.directory|push\.\w+|pull\.(?:rebase|ff)|merge\.(?:ff|conflictstyle)|diff\.\w+"
    r"|http\.(?:version|postbuffer|sslverify|lowspeed\w+)|protocol\.version|gc\.auto"
    r"|maintenance\.auto|rebase\.auto\w+|status\.\w+|column\.\w+|fetch\.\w+)(?:=.*)?"
)
_NOT_SAFE = re.compile(
    r"(?i)diff\.(?:external|\w+\.(?:command|textconv))(?:=.*)?|.*=!.*", re.DOTALL
)
_VALUED = frozenset({"-C", "--git-dir", "--work-tree", "--namespace"})
_OPTIONS = {
    "bisect": r"run",
    "clone": r"-u.*|--upload-p.*|-c.*|--config.*|--template.*|ext::.*",
    "difftool": r"-\w*[xt].*|--ext.*|--tool.*",
    "fetch": r"--upload-p.*|ext::.*",
    "filter-branch": r"--.*",
    "for-each-repo": r".*",
    "grep": r"-\w*O.*|--open.*",
    "ls-remote": r"--upload-p.*|--exec.*|ext::.*",
    "pull": r"--upload-p.*|ext::.*|-\w*x.*|--exec.*",
    "push": r"--rec.*|--exec.*|ext::.*",
    "rebase": r"-\w*x.*|--exec.*",
    "send-email": r".*-cmd.*|--sendmail.*",
    "submodule": r"foreach",
    "archive": r"--exec.*|--remote=ext.*",
    "mergetool": r"-\w*t.*|--tool.*",
}
_BY_COMMAND = {name: re.compile(form, re.DOTALL) for name, form in _OPTIONS.items()}
_READS_CONFIG = re.compile(r"--get.*|--list|-l|--unset.*|get|list|--show-.*")


def runs_at(words: tuple[Word, ...]) -> int | None:
    """The word by which git may run another command."""
    at = 1
    while at < len(words) and (words[at].text or words[at].source).startswith("-"):
        text = words[at].text or words[at].source
        if text == "-c":
            following = words[at + 1] if at + 1 < len(words) else None
            if following is None or not _harmless(following):
                return at
            at += 2
        elif re.match(r"-c.|--config-env|--exec-path=|--attr-source", text):
            return at
        else:
            at += 2 if text in _VALUED else 1
    if at >= len(words):
        return None
    name = words[at].text
    if name is None:
        return at
    if name == "config":
        return _configures(words, at)
    form = _BY_COMMAND.get(name)
    for place in range(at + 1, len(words)):
        said = words[place].text
        if form is not None and said is not None and form.fullmatch(said):
            return place
    return None


def _harmless(word: Word) -> bool:
    # `user.name="$x"` names its setting, whatever the value is.
    text = word.text if word.text is not None else word.source.lstrip("\"'")
    return _SAFE.fullmatch(text) is not None and not _NOT_SAFE.fullmatch(text)


def _configures(words: tuple[Word, ...], at: int) -> int | None:
    """A setting that a later git obeys."""
    rest = words[at + 1 :]
    if any(_READS_CONFIG.fullmatch(word.text or "") for word in rest):
        return None
    named = [word for word in rest if not (word.text or "").startswith("-")]
    if named and named[0].text == "set":
        named = named[1:]
    if len(named) < 2 or _harmless(named[0]):
        return None
    return at

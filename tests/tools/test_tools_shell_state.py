"""What a command exports is there for the next; what breaks its report breaks nothing else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.tools import Bash, ShellSettings, ShellState
from interlock.tools.shell_state import Report
from tests.tools.places import Place

# --- what lasts ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "afterwards", "said"),
    [
        ("export X=1", 'echo "$X"', "1"),
        ("set -a; X=1; Y=2", 'echo "$X$Y"; python3 -c "import os; print(\'IFS\' in os.environ)"',
         "12\nFalse"),
        ("export X=$'a\\nb\\n'", 'printf %s "$X" | od -An -c | tr -d " "', "a\\nb\\n"),
        ("export X=$'\\xff\\x81'", "printf %s \"$X\" | od -An -tx1", " ff 81"),
        ("export X='@@' Y='@' Z='+' E=''", 'echo "$X$Y$Z${E+set}"', "@@@+set"),
        ('export PATH="$PWD/bin:$PATH"', 'echo "${PATH%%:*}"', "{folder}/bin"),
        ("export HERE=1; unset HERE", "echo ${HERE-gone}", "gone"),
        ("readonly X=1; export X; readonly IFS", "echo $X", "1"),
        ("set -euf; export X=1; false", "echo $X $-", "1 hBc"),
        ("export X=1; exit 7", "echo $X", "1"),
        ("trap 'echo bye' EXIT; export X=1", "echo $X", "1"),
        ("export NOVALUE", "env | grep -c ^NOVALUE || true", "0"),
        ("mkdir sub; cd sub", "cd - >/dev/null; pwd", "{folder}"),
        ("export PAGER=less", "echo $PAGER", "less"),
    ],
)  # fmt: skip
async def test_exported_variables_last_and_nothing_else_does(
    place: Place, command: str, afterwards: str, said: str
) -> None:
    await place.call("Bash", command=command)

    got = await place.said("Bash", command=afterwards)

    assert got == said.format(folder=place.folder)


async def test_what_is_not_exported_does_not_last(place: Place) -> None:
    await place.said("Bash", command="X=1; f() { :; }; alias a=b; shopt -s extglob")

    said = await place.refused(
        "Bash", command="shopt -q extglob || echo off; echo ${X-none}; type f a 2>&1"
    )

    assert said.startswith("off\nnone\n")
    assert "f: not found" in said
    assert "a: not found" in said


async def test_a_variable_of_the_session_can_be_unset_and_set_again(place: Place) -> None:
    place.tools["Bash"] = Bash(ShellSettings(environment={"PATH": "/usr/bin:/bin", "OLD": "1"}))
    await place.said("Bash", command="unset OLD")
    assert await place.said("Bash", command="env | grep ^OLD= || echo none") == "none"

    await place.said("Bash", command="export OLD=2")

    assert await place.said("Bash", command="echo $OLD") == "2"


async def test_a_virtual_environment_stays_active(place: Place) -> None:
    place.put(
        "venv/bin/activate",
        'VIRTUAL_ENV=$PWD/venv; export VIRTUAL_ENV; PATH="$VIRTUAL_ENV/bin:$PATH"; export PATH\n',
    )
    place.put("venv/bin/tool", "#!/bin/sh\necho from the venv\n").chmod(0o755)

    await place.said("Bash", command="source venv/bin/activate")

    assert await place.said("Bash", command="tool") == "from the venv"


async def test_names_that_are_no_shell_variables_are_passed_on_as_they_are(place: Place) -> None:
    given = {"PATH": "/usr/bin:/bin", "a.b": "1", "BASH_FUNC_greet%%": "() { echo hello; }"}
    place.tools["Bash"] = Bash(ShellSettings(environment=given))
    await place.said("Bash", command="export X=1")

    assert await place.said("Bash", command="env | grep ^a.b; greet") == "a.b=1\nhello"


# --- traps of the command's own --------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("trap 'echo left with $?' EXIT; {change}; exit 3", "left with 3\n(Exit code 3.)"),
        ("trap 'echo left with $?' EXIT; {change}; (exit 3)", "left with 3\n(Exit code 3.)"),
        ("trap 'code=$?; echo x; exit $code' EXIT; {change}; exit 3", "x\n(Exit code 3.)"),
        ("set -eu; trap 'echo \"it is\"' 0; {change}; exit 3", "it is\n(Exit code 3.)"),
        ("trap 'echo a' EXIT; old=$(trap -p EXIT); trap - EXIT; eval \"$old\"; {change}; exit",
         "a"),
        ("trap 'echo on errors too >&2' EXIT; {change}; exit 0", "on errors too"),
        ("main() {{ {change}; exit 3; }}; main", "(Exit code 3.)"),
        ("trap 'echo a' EXIT; main() {{ {change}; exit 3; }}; main", "a\n(Exit code 3.)"),
        ("trap 'exit 3' TERM; {change}; kill -TERM $$; echo not here", "(Exit code 3.)"),
        ("(exit 4); x=$(exit 5); {change}; exit", "(no output)"),
    ],
)  # fmt: skip
async def test_what_a_command_leaves_lasts_whatever_it_does_at_its_exit(
    place: Place, command: str, said: str
) -> None:
    place.put("sub/x", "")

    output = await place.call("Bash", command=command.format(change="cd sub; export X=1"))

    assert output.content == said
    assert await place.said("Bash", command="echo $X; pwd") == f"1\n{place.folder}/sub"


@pytest.mark.parametrize(
    "ending", ["exec true", "kill -9 $$", "set -e; trap 'echo bye' EXIT; (exit 3)"]
)
async def test_where_a_shell_cannot_tell_what_it_leaves_that_is_said(
    place: Place, ending: str
) -> None:
    place.put("sub/x", "")

    output = await place.call("Bash", command=f"cd sub; export X=1; {ending}")

    assert "(Folder and exported variables are as before this command: " in str(output.content)
    assert await place.said("Bash", command="echo ${X-none}; pwd") == f"none\n{place.folder}"


# --- nothing of ours shows -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ('echo "unterminated',
         "bash: eval: line 1: unexpected EOF while looking for matching `\"'\n(Exit code 2.)"),
        ("if true", "bash: eval: line 2: syntax error: unexpected end of file\n(Exit code 2.)"),
        ("\n\nnosuch", "bash: line 3: nosuch: command not found\n(Exit code 127.)"),
        ("set -x; false", "++ false\n(Exit code 1.)"),
        ("trap 'echo on errors >&2' EXIT", "on errors"),
        ("echo $#$*", "0"),
        ("trap 'echo e' ERR; false; trap - ERR; false; true", "e"),
        ("ls /proc/self/fd", "0\n1\n2\n3"),
    ],
)  # fmt: skip
async def test_what_is_printed_is_what_bash_prints_for_the_line_itself(
    place: Place, command: str, said: str
) -> None:
    assert (await place.call("Bash", command=command)).content == said


# --- what ends early -------------------------------------------------------------------------


async def test_after_a_time_limit_folder_and_variables_are_as_before(place: Place) -> None:
    await place.said("Bash", command="export X=before; mkdir sub")

    await place.refused("Bash", command="cd sub; export X=after; sleep 100", timeout=200)

    assert await place.said("Bash", command="echo $X; pwd") == f"before\n{place.folder}"


@pytest.mark.parametrize("more", ["", "exec 9>nine 11>eleven 12>twelve 200>two; "])
async def test_a_shell_ended_by_a_signal_tells_its_variables_to_nobody(
    place: Place, more: str
) -> None:
    # Descriptors from 10 up are where bash itself puts away what it redirects.
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(8)]
    await place.said("Bash", command="export TOKEN=secret-$((1000 + 337))")

    said = await place.refused("Bash", command=f"{more}sleep 100", timeout=200)
    killed = await place.refused("Bash", command=f"{more}kill -TERM $$; sleep 100")

    assert "secret" not in said + killed
    for path in place.folder.iterdir():
        assert path.read_bytes() == b""
    for number in held:
        os.close(number)


@pytest.mark.parametrize(
    "breaking",
    [
        "compgen() { echo broken; return 1; }",
        "printf() { echo nonsense; }",
        "exec true",
        "kill -9 $$",
        "ulimit -u 0",
        "trap 'exit 3' EXIT; readonly PWD",
        "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- 10>&- 11>&- 12>&- 13>&- 14>&-",
        "export BASH_ENV=$PWD/exits; echo 'exit 9' >exits",
        "export SHELLOPTS; set -n",
        "export BASHOPTS; shopt -s expand_aliases",
        "export LD_LIBRARY_PATH=/nowhere LD_PRELOAD=/nowhere.so",
    ],
)
async def test_a_command_that_breaks_its_own_report_breaks_no_later_call(
    place: Place, breaking: str
) -> None:
    await place.said("Bash", command="export KEPT=1")

    await place.call("Bash", command=breaking)

    said = await place.said("Bash", command="echo $KEPT; echo $((20 + 22))")
    assert said.endswith("1\n42")


async def test_a_shell_that_cannot_start_any_more_gets_its_first_environment_back(
    place: Place,
) -> None:
    bash = place.tools["Bash"]
    assert isinstance(bash, Bash)
    bash.state = ShellState(exported={"BASH_ENV": str(place.put("exits", "exit 9"))})

    first = await place.refused("Bash", command="echo begun")

    assert "they are as at the session's start again: run it once more." in first
    assert await place.said("Bash", command="echo begun") == "begun"


async def test_what_no_program_could_be_started_with_is_not_kept_and_told(place: Place) -> None:
    grow = "X=$(head -c 200000 /dev/zero | tr '\\0' x); export X SMALL=1"

    said = await place.said("Bash", command=grow)

    assert "Exported variables are as before this command: X: longer than the 131071 bytes" in said
    assert await place.said("Bash", command="/bin/echo ${X-unset} ${SMALL-unset}") == "unset unset"


async def test_many_large_variables_are_told_whole(place: Place) -> None:
    grow = "V=$(head -c 50000 /dev/zero | tr '\\0' v); for i in 1 2 3 4; do export BIG$i=$V; done"

    await place.said("Bash", command=grow)

    assert await place.said("Bash", command="echo ${#BIG1} ${#BIG4}") == "50000 50000"


async def test_a_line_too_long_for_any_program_is_refused_with_the_way_out(place: Place) -> None:
    said = await place.refused("Bash", command=f"echo {'x' * 130_000}")

    assert "too long: 130005 bytes, at most 120000. Write it to a file" in said


async def test_no_secret_is_put_into_a_file(place: Place) -> None:
    await place.said("Bash", command="export TOKEN=secret-$((1000 + 337))")
    await place.said("Bash", command="sleep 0.01 & true")

    for path in place.folder.parent.rglob("*"):
        assert not path.is_file() or b"secret-1337" not in path.read_bytes()


# --- the state as data -----------------------------------------------------------------------


async def test_the_state_can_be_stored_and_given_to_another_session(place: Place) -> None:
    bash = place.tools["Bash"]
    assert isinstance(bash, Bash)
    await place.said("Bash", command="mkdir sub; cd sub; export X=$'\\xff'; unset HOME")

    stored = json.loads(json.dumps(bash.state.as_data()))
    other = Bash()
    other.state = ShellState.of_data(stored)
    place.tools["Bash"] = other

    assert other.state.folder == place.folder / "sub"
    assert "PATH" not in stored["exported"]
    said = await place.said("Bash", command='printf %s "$X" | od -An -tx1; echo ${HOME-none}')
    assert said == " ff\nnone".strip("\n")


NAMES = st.text(alphabet="ABC", min_size=1, max_size=2)
VALUES = st.text(alphabet="xy=@+\n", max_size=3)
ENVIRONMENTS = st.dictionaries(NAMES, VALUES, max_size=4)


@given(base=ENVIRONMENTS, steps=st.lists(ENVIRONMENTS, max_size=4))
def test_one_after_another_the_next_begins_as_the_last_ended(
    base: dict[str, str], steps: list[dict[str, str]]
) -> None:
    state = ShellState()
    for ended in steps:
        state = state.after(state.over(base), ended)
        assert state.over(base) == ended


@given(told=st.binary(max_size=60) | st.lists(
    st.sampled_from([b"+", b"@", b"@@", b"/f", b"A=1", b"", b"A"])
).map(lambda fields: b"\0".join(fields)))  # fmt: skip
def test_whatever_arrives_as_a_report_is_read(told: bytes) -> None:
    report = Report.read(told)

    assert report.folder is None or report.folder.is_absolute()


def test_a_cut_report_changes_nothing() -> None:
    whole = b"+\0@\0/f\0A=1\0B=2\0@@\0"

    assert Report.read(whole) == Report(begun=True, folder=Path("/f"),
                                        exported={"A": "1", "B": "2"})  # fmt: skip
    for length in range(2, len(whole)):
        assert Report.read(whole[:length]) == Report(begun=True)

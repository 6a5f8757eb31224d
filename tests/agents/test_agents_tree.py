"""A tree of up to fifty children, three deep, with faults and an interrupt: nothing is left, every
result comes once, and costs add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from attrs import field, frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.scripted import ScriptedServer, SentRequest, reply, tool_use
from interlock.scripted.replies import Answer, Status
from interlock.worktrees import all_of
from phases.world.updates import AgentEnded, AgentStarted, ToolStarted, Update
from tests.agent.support import Room, Told, living, results, tell, unanswered
from tests.agents.families import Left, children, first_words, hand
from tests.worktrees.repositories import ALONE, branches, repository, sh, trees

OVERLOADED = Status(
    status=529,
    headers={},
    body={"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
)
REFUSED = Status(
    status=401,
    headers={},
    body={"type": "error", "error": {"type": "authentication_error", "message": "no"}},
)
FAULTS = ("none", "none", "none", "overloaded", "refused", "cut", "bash", "commit")


@frozen(kw_only=True)
class Child:
    """One child of the tree: its own children, what goes wrong, whether it runs beside."""

    name: str
    fault: str
    beside: bool
    apart: bool = False  # in a worktree of its own, where it may leave a commit
    below: tuple[Child, ...] = ()

    def all(self) -> list[Child]:
        return [self, *(one for child in self.below for one in child.all())]


@pytest.fixture(autouse=True, scope="module")
def git_alone() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ALONE.items():
            patch.setenv(name, value)
        yield


@st.composite
def families(draw: st.DrawFn) -> Child:
    """A root, and below it 1 to 49 others in three generations."""
    left = draw(st.integers(1, 49))
    numbers = iter(range(1000))

    def child(depth: int) -> Child:
        nonlocal left
        below: list[Child] = []
        while depth < 3 and left > 0 and len(below) < 10 and (depth == 0 or draw(st.booleans())):
            left -= 1
            below.append(child(depth + 1))
        return Child(
            name="go" if depth == 0 else f"n{next(numbers)}",
            fault="none" if depth == 0 else draw(st.sampled_from(FAULTS)),
            beside=depth > 0 and draw(st.integers(0, 4)) == 0,
            apart=depth > 0 and draw(st.integers(0, 3)) == 0,
            below=tuple(below),
        )

    return child(0)


@frozen
class Script:
    """Answers each child by its name: it hands on, then reports."""

    tree: Child
    failed: set[str] = field(factory=set)

    def __call__(self, request: SentRequest) -> Answer:
        name = first_words(request)
        one = next(child for child in self.tree.all() if child.name == name)
        if one.fault == "refused":
            return REFUSED
        if one.fault in ("overloaded", "cut") and name not in self.failed:
            self.failed.add(name)
            return OVERLOADED if one.fault == "overloaded" else _cut()
        if len(request.body["messages"]) > 1:
            return reply(f"report of {name}")
        calls: list[Any] = [
            hand(
                child.name,
                run_in_background=child.beside,
                **({"isolation": "worktree"} if child.apart else {}),
            )
            for child in one.below
        ]
        if one.fault == "bash":
            calls.append(tool_use("Bash", {"command": "sleep 0.02; echo x"}))
        if one.fault == "commit" and one.apart:
            work = f"echo {name} > {name}; git add .; git commit -qm {name}"
            calls.append(tool_use("Bash", {"command": work}))
        return reply(*calls) if calls else reply(f"report of {name}")


def _cut() -> Answer:
    from attrs import evolve

    return evolve(reply("half a re"), cut_after=3)


@given(tree=families(), stop_at=st.one_of(st.none(), st.integers(1, 60)))
@settings(max_examples=12)
async def test_a_tree_leaves_nothing_behind_whatever_happens(
    tree: Child, stop_at: int | None
) -> None:
    with TemporaryDirectory() as folder:
        await _holds(tree, stop_at, Path(folder))


@pytest.mark.parametrize("stop_at", [None, 40, 90])
async def test_fifty_children_three_deep(tmp_path: Path, stop_at: int | None) -> None:
    faults = (fault for _ in range(50) for fault in FAULTS)

    def child(name: str, depth: int) -> Child:
        width = {0: 5, 1: 3, 2: 2, 3: 0}[depth]
        below = tuple(child(f"{name}.{number}", depth + 1) for number in range(width))
        fault = "none" if depth == 0 else next(faults)
        return Child(
            name=name,
            fault=fault,
            beside=name.endswith(".2"),
            apart=name.endswith(".1"),
            below=below,
        )

    tree = child("go", 0)
    assert len(tree.all()) == 51

    await _holds(tree, stop_at, tmp_path)


async def _holds(tree: Child, stop_at: int | None, folder: Path) -> None:
    room, script = Room.made(folder), Script(tree)
    repository(room.work)
    few = {"INTERLOCK_MAX_CONCURRENT_REQUESTS": "3", "INTERLOCK_MAX_RETRIES": "2"}
    async with ScriptedServer(script) as server:
        async with room.open(server, environ=few) as agent:

            def stop(update: Update, number: int) -> None:
                if number == stop_at:
                    agent.interrupt()

            told = await tell(agent, "go", on=stop)
            summary = await agent.settle(told.summary, lambda update: None)
            spent = sum(use.cost or 0 for use in agent.spent.values())
            left = children(agent)
            assert agent._crew.tree.running == 0
        transcripts = [agent.transcript_path, *agent.paths.agents.glob("*.jsonl")]

    assert living(room.work) == []
    assert summary.cost == pytest.approx(spent)
    _every_result_once(server.requests, told)
    _all_are_over(told, left)
    _costs_add_up(left, spent)
    _trees_are_accounted_for(room, left)
    for path in transcripts:
        if path.exists():
            assert unanswered(path) == []
    if stop_at is None:
        assert told.ending == ("completed", None)


def _every_result_once(requests: tuple[SentRequest, ...], told: Told) -> None:
    """In each conversation, each call has one result, and no report stands in two of them."""
    last = {first_words(request): request for request in requests}
    for request in last.values():
        for index in range(1, len(request.body["messages"])):
            answered = Counter(
                block["tool_use_id"]
                for block in request.body["messages"][index]["content"]
                if isinstance(block, dict) and block["type"] == "tool_result"
            )
            assert set(answered.values()) <= {1}
    reports = Counter(
        text.splitlines()[0]
        for request in last.values()
        for _, text, bad in results(request)
        if not bad and text.startswith("report of")
    )
    assert set(reports.values()) <= {1}


def _all_are_over(told: Told, left: dict[str, Left]) -> None:
    traces = [each.trace for each in left.values() if each.began]
    assert all(trace.ending is not None for trace in traces)
    assert all(trace.header.depth <= 3 for trace in traces)
    chains = {told.trace.header.chain_id, *(trace.header.chain_id for trace in traces)}
    assert len(chains) == 1
    begun = [one.agent_id for one in told.updates if isinstance(one, AgentStarted)]
    assert sorted(begun) == sorted(each.agent_id for each in left.values())
    over = Counter(one.agent_id for one in told.updates if isinstance(one, AgentEnded))
    assert set(over.values()) <= {1}
    assert any(isinstance(one, ToolStarted) for one in told.updates) or not left


def _trees_are_accounted_for(room: Room, left: dict[str, Left]) -> None:
    """What git knows is what is written down; each holds something, and its child's report says
    where. Nothing was done in the main tree."""
    kept = {tree.branch: tree for tree in all_of(room.home)}
    assert sorted(branches(room.work)) == sorted([*kept, "main"])
    assert sorted(trees(room.work)) == sorted(tree.path for tree in kept.values())
    assert sh("git status --porcelain", room.work) == ""
    by_id = {each.agent_id: each for each in left.values()}
    for tree in kept.values():
        assert sh(f"git log --format=%s {tree.base}..{tree.branch}", room.work) or sh(
            "git status --porcelain --ignored", tree.path
        )
        assert tree.branch in by_id[tree.agent_id].result["result"]


def _costs_add_up(left: dict[str, Left], spent: float) -> None:
    """What a child has cost holds what its own children have; and nothing is in two others."""
    by_id = {each.agent_id: each for each in left.values()}
    for each in left.values():
        below = [one for one in by_id.values() if one.meta["parentAgentId"] == each.agent_id]
        cost = sum(one.result["costUSD"] for one in below)
        assert each.result["costUSD"] >= cost - 1e-9, each.result
    top = sum(
        each.result["costUSD"] for each in left.values() if each.meta["parentAgentId"] is None
    )
    assert spent >= top - 1e-9

"""Rules for messages together: order of roles, texts that say something, calls and results."""

from __future__ import annotations

from typing import Any

from interlock.scripted.rules.walk import Asked, Placed, Problems, Turn, inside


def order_problems(asked: Asked) -> Problems:
    """Who speaks first, and where a system message may stand."""
    messages = asked.body["messages"]
    if messages[0]["role"] == "assistant":
        yield 'messages: first message must use the "user" role'
    for index, message in enumerate(messages):
        if message["role"] != "system":
            continue
        before = messages[index - 1] if index else {"role": None, "content": ()}
        after = messages[index + 1]["role"] if index + 1 < len(messages) else "assistant"
        if before["role"] != "user" and not _ends_in_server_tool(before):
            yield f"messages.{index}: role 'system' must follow a 'user' message"
        elif after != "assistant":
            yield (
                f"messages.{index}: role 'system' must precede an 'assistant' message"
                " or end the array"
            )


def _ends_in_server_tool(message: Any) -> bool:
    content = message["content"]
    if message["role"] != "assistant" or isinstance(content, str) or not content:
        return False
    kind = str(content[-1]["type"])
    return kind == "server_tool_use" or kind.endswith("_tool_result")


def text_problems(asked: Asked) -> Problems:
    """No message without content, no text without words, no space at the very end."""
    messages = asked.body["messages"]
    for index, message in enumerate(messages):
        last = index + 1 == len(messages)
        if not message["content"] and not (last and message["role"] == "assistant"):
            yield (
                f"messages.{index}: all messages must have non-empty content except for the"
                " optional final assistant message"
            )
    for one in asked.blocks():
        yield from _wordless(one)
        for inner in inside(one):
            yield from _wordless(inner)
    final = asked.turns[-1].blocks if asked.turns else ()
    if messages[-1]["role"] == "assistant" and final and final[-1].type == "text":
        words = final[-1].block["text"]
        if words != words.rstrip():
            yield "messages: final assistant content cannot end with trailing whitespace"


def _wordless(one: Placed) -> Problems:
    if one.type != "text":
        return
    if not one.block["text"]:
        yield f"{one.place}: text content blocks must be non-empty"
    elif not one.block["text"].strip():
        yield f"{one.place}: text content blocks must contain non-whitespace text"


def pairing_problems(asked: Asked) -> Problems:
    """Each call has exactly one result, first thing in the very next user message."""
    seen: set[str] = set()
    calls: list[str] = []
    for at, turn in enumerate(asked.turns):
        if turn.role == "user":
            yield from _results(turn, calls)
            calls = []
            continue
        calls = []
        for one in turn.blocks:
            if one.type != "tool_use":
                continue
            if one.block["id"] in seen:
                yield f"{one.place}: `tool_use` ids must be unique"
            seen.add(one.block["id"])
            calls.append(one.block["id"])
        yield from _unanswered(turn, calls, asked.turns[at + 1 : at + 2])


def _unanswered(turn: Turn, calls: list[str], following: tuple[Turn, ...]) -> Problems:
    answered: set[str] = set()
    for one in following[0].blocks if following else ():
        if one.type != "tool_result":
            break  # a result after other content is not found by the API
        answered.add(one.block["tool_use_id"])
    missing = [call for call in dict.fromkeys(calls) if call not in answered]
    if missing:
        yield (
            f"messages.{turn.index}: `tool_use` ids were found without `tool_result` blocks"
            f" immediately after: {', '.join(missing)}. Each `tool_use` block must have a"
            " corresponding `tool_result` block in the next message."
        )


def _results(turn: Turn, calls: list[str]) -> Problems:
    answered: set[str] = set()
    for one in turn.blocks:
        if one.type != "tool_result":
            continue
        call = one.block["tool_use_id"]
        if call not in calls:
            yield (
                f"{one.place}: unexpected `tool_use_id` found in `tool_result` blocks: {call}."
                " Each `tool_result` block must have a corresponding `tool_use` block in the"
                " previous message."
            )
        elif call in answered:
            yield (
                f"{one.place}: each tool_use must have a single result. Found multiple"
                f" `tool_result` blocks with id: {call}"
            )
        answered.add(call)
        yield from _error_content(one)


def _error_content(one: Placed) -> Problems:
    if not one.block.get("is_error"):
        return
    if not one.block.get("content"):
        yield f"{one.place}.tool_result: content cannot be empty if `is_error` is true"
    elif any(inner.type != "text" for inner in inside(one)):
        yield f"{one.place}.tool_result: all content must be type `text` if `is_error` is true"


def window_problems(asked: Asked) -> Problems:
    """The request fits the model's window."""
    if asked.window is not None and (tokens := asked.tokens()) > asked.window:
        yield f"prompt is too long: {tokens} tokens > {asked.window} maximum"

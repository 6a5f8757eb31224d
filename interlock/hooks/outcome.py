"""What hooks have said: of one what it comes to, of several that ran together one answer. Pure.

Deny goes over ask, ask over allow, and an end of the run over all. Texts are joined in the order
of configuration. Hooks that run together all see the model's input; two that want different ones
in its place cannot both be obeyed, so that call is denied.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen

from interlock.hooks.answer import BadAnswer, HookAnswer, from_stdout
from interlock.hooks.command import Ran
from interlock.hooks.events import FACTS, Effect, Event
from interlock.hooks.hook import Hook
from interlock.permissions.decision import Decision, Verdict

MOST_TEXT = 10_000  # characters of one text of a hook that the model or a person gets
BLOCKING_CODE = 2
_STRICT = (Effect.ASK, Effect.BLOCK, Effect.FEEDBACK, Effect.DENY, Effect.STOP)
_ORDER = list(Effect)


@frozen(kw_only=True)
class Word:
    """What one hook has said. `broken` is why it did not say what it had to, in words."""

    hook: Hook
    answer: HookAnswer
    broken: str | None = None

    @property
    def effect(self) -> Effect:
        return self.answer.effect

    @property
    def reason(self) -> str:
        """The hook's own words, or who it is."""
        if self.broken is not None and not self.answer.reason:
            return f"the {self.hook.event} hook `{self.hook.name}` {self.broken}"
        said = (self.answer.reason or "").strip()
        return said or f"the {self.hook.event} hook `{self.hook.name}` gave no reason"


@frozen(kw_only=True)
class Said:
    """What the hooks of one event have said together."""

    words: tuple[Word, ...] = ()

    @property
    def decision(self) -> Decision | None:
        """About a call. None: they leave it to rules, mode and the user."""
        if self._rewrites > 1:
            return Decision(
                verdict=Verdict.DENY, reason="two hooks want different inputs in its place"
            )
        for effects, verdict, words in (
            ((Effect.DENY, Effect.STOP), Verdict.DENY, "a hook forbids it"),
            ((Effect.ASK,), Verdict.ASK, "a hook wants it asked"),
            ((Effect.ALLOW,), Verdict.ALLOW, "a hook allowed it"),
        ):
            reasons = self.reasons(*effects)
            if reasons:
                return Decision(verdict=verdict, reason=f"{words}: {'; '.join(reasons)}")
        return None

    @property
    def arguments(self) -> Mapping[str, Any] | None:
        """What is to take the place of the call's input."""
        found = [word.answer.arguments for word in self.words if word.answer.arguments]
        return found[0] if self._rewrites == 1 else None

    @property
    def stop(self) -> str | None:
        """Why the run is to end."""
        return "; ".join(self.reasons(Effect.STOP)) or None

    @property
    def context(self) -> str | None:
        return "\n\n".join(word.answer.context for word in self.words if word.answer.context) or (
            None
        )

    @property
    def output(self) -> str | None:
        """What is to take the place of the tool's output; of several the last one's."""
        found = [word.answer.output for word in self.words if word.answer.output is not None]
        return found[-1] if found else None

    @property
    def interrupt(self) -> bool:
        return any(word.answer.interrupt and word.effect is Effect.DENY for word in self.words)

    def reasons(self, *effects: Effect) -> tuple[str, ...]:
        """Of the hooks that brought about one of these."""
        return tuple(word.reason for word in self.words if word.effect in effects)

    @property
    def _rewrites(self) -> int:
        different: list[Mapping[str, Any]] = []
        for word in self.words:
            if word.answer.arguments and word.answer.arguments not in different:
                different.append(word.answer.arguments)
        return len(different)


def heard(hook: Hook, ran: Ran) -> Word:
    """What a command that was run has said, by its end and its output."""
    answer, unread = HookAnswer(), None
    try:
        answer = from_stdout(hook.event, ran.out, cut=ran.cut)
    except BadAnswer as error:
        unread = str(error)
    if ran.code == BLOCKING_CODE:
        reason = ran.err.strip() or answer.reason
        return _word(hook, HookAnswer(effect=FACTS[hook.event].block, reason=reason))
    problem = unread if ran.code == 0 else ran.problem or _failed(ran)
    return _word(hook, answer) if problem is None else broken(hook, problem, answer)


def broken(hook: Hook, problem: str, answer: HookAnswer | None = None) -> Word:
    """What a hook that broke comes to: nothing milder than its setting, whatever it has said."""
    effect, reason = hook.if_broken, None
    strict = answer is not None and answer.effect in _STRICT
    if answer is not None and strict and _ORDER.index(answer.effect) >= _ORDER.index(effect):
        effect, reason = answer.effect, answer.reason
    message = answer.message if answer is not None else None
    said = HookAnswer(effect=effect, reason=reason, message=message)
    return evolve(_word(hook, said), broken=problem)


def answered(hook: Hook, answer: HookAnswer) -> Word:
    """What a function has said."""
    return _word(hook, answer)


def _word(hook: Hook, answer: HookAnswer) -> Word:
    rewrites = answer.arguments
    if hook.event is Event.PERMISSION_REQUEST and rewrites is not None:
        # Only PreToolUse can change a call; allowed as it is, it would not be what was allowed.
        problem = "wants another input, which is PreToolUse's to give"
        return broken(hook, problem, evolve(answer, arguments=None))
    return Word(
        hook=hook,
        answer=evolve(
            answer,
            reason=_bounded(answer.reason),
            context=_bounded(answer.context),
            message=_bounded(answer.message),
            arguments=rewrites if hook.event is Event.PRE_TOOL_USE else None,
        ),
    )


def _failed(ran: Ran) -> str:
    lines = ran.err.strip().splitlines()
    return f"failed with exit code {ran.code}" + (f": {lines[0][:400]}" if lines else "")


def _bounded(text: str | None) -> str | None:
    if text is None or len(text) <= MOST_TEXT:
        return text
    return f"{text[:MOST_TEXT]}\n[cut here: {len(text):,} characters]"

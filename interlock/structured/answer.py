"""The tool that takes the answer, the hooks that insist on one, and what a run has then given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping

from attrs import evolve

from interlock.counted import counted
from interlock.errors import UsageError
from interlock.hooks import Event, HookMatcher
from interlock.options import Options
from interlock.settings import Settings
from interlock.structured.schema import AnswerSchema
from interlock.summary import NO_ANSWER_FITS, RunSummary
from interlock.tools import Arguments, Output, Tool, ToolContext, ToolError
from phases.world.messages import Json, encoded
from phases.world.states import State

NAME = "StructuredOutput"
_NOT_YET = (
    f"Your answer is not given yet: call the tool {NAME} with it. Text alone is not read by"
    " whoever asked."
)


Check = Callable[[Json], object]  # raises ValueError for what is no answer


class StructuredAnswer(Tool):
    """Takes one answer per prompt, the last that fits; after `most` that do not, the run ends."""

    name = NAME
    description = (
        "Gives your final answer to whoever asked: a program that reads this and nothing else."
        " Call it once, when the work is done, with an input that fits the schema."
    )
    # Checked against the schema itself, so that refusals count and say all that is wrong.
    input_schema: Mapping[str, Json] = {"type": "object"}

    def __init__(self, schema: AnswerSchema, most: int, check: Check | None = None) -> None:
        self._schema = schema
        self._most = most
        self._check = check
        self.begin()

    def begin(self) -> None:
        """A prompt begins, and what was given before is no answer to it."""
        self._given: tuple[Json] | None = None  # in a tuple: null is an answer too
        self._refused = 0  # inputs that did not fit, and ends without an answer

    @classmethod
    def of(cls, options: Options, settings: Settings) -> StructuredAnswer | None:
        """The one of a session, if it is to have one. Raises UsageError for no schema."""
        if options.json_schema is None:
            return None
        schema = AnswerSchema(options.json_schema)
        return cls(schema, settings.structured_attempts, options.answer_check)

    def join(self, offered: MutableMapping[str, Tool]) -> None:
        """Be offered, whatever was chosen of the others. Raises UsageError."""
        if NAME in offered:
            raise UsageError(f"a tool cannot be called {NAME} beside --json-schema: name it anew")
        offered[NAME] = self

    @property
    def hooks(self) -> tuple[HookMatcher, ...]:
        """What insists on an answer: no end of the run without one, no call beyond the bound."""
        return (
            HookMatcher(event=Event.STOP, hooks=[self._may_end]),
            HookMatcher(event=Event.PRE_TOOL_USE, matcher=NAME, hooks=[self._may_try]),
        )

    def finished(self, summary: RunSummary) -> RunSummary:
        """The summary with the answer, or with the error that there is none."""
        if self._given is not None:
            value = self._given[0]
            text = encoded(value).decode() if summary.ok else summary.text
            return evolve(summary, structured_output=value, text=text)
        if not self._gave_up or summary.reason not in (
            State.STOP_HOOK_PREVENTED,
            State.HOOK_STOPPED,
        ):
            return summary
        tries = counted(self._most, "attempt")
        line = f"No answer came that fits the schema, in {tries} (--json-schema)."
        return evolve(summary, error=NO_ANSWER_FITS, error_text=line)

    # --- the tool ----------------------------------------------------------------------------

    def effects(self, arguments: Arguments) -> bool:
        return False

    def wire(self) -> dict[str, Json]:
        return {**super().wire(), "input_schema": self._schema.input_schema}

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        value, problems = self._schema.read(arguments)
        problems = problems or self._further(value)
        if problems:
            self._refused += 1
            raise ToolError(f"The answer does not fit the schema: {'; '.join(problems)}")
        self._given = (value,)
        return Output("The answer was given. Nothing more is needed.")

    def _further(self, value: Json) -> tuple[str, ...]:
        """What the caller's own check has against it."""
        try:
            if self._check is not None:
                self._check(value)
        except ValueError as error:
            return (" ".join(str(error).split()),)
        return ()

    # --- the hooks ---------------------------------------------------------------------------

    @property
    def _gave_up(self) -> bool:
        return self._refused >= self._most

    async def _may_end(self, told: Mapping[str, Json]) -> Mapping[str, Json] | None:
        if self._given is not None:
            return None
        self._refused += 1
        if self._gave_up:
            return {"continue": False, "stopReason": "no answer fits the schema"}
        return {"decision": "block", "reason": _NOT_YET}

    async def _may_try(self, told: Mapping[str, Json]) -> Mapping[str, Json] | None:
        if self._gave_up and self._given is None:
            return {"continue": False, "stopReason": "no answer fits the schema"}
        return None

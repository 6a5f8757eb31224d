"""What can go wrong with a machine.

FsmError
├── DeclarationError     the table is wrong; raised when it is built
├── UndeclaredOutcome    the machine was told something its state does not know
└── TraceError           a trace cannot be read, or does not belong to this machine
"""


class FsmError(Exception):
    """Root of everything this package raises."""


class DeclarationError(FsmError):
    """The table is wrong: `edge` names the row, `problem` says how."""

    def __init__(self, machine: str, edge: str, problem: str) -> None:
        self.machine = machine
        self.edge = edge
        self.problem = problem
        super().__init__(f"machine {machine}, {edge}: {problem}")


class UndeclaredOutcome(FsmError):
    """No row says what `outcome` means in `state`; nothing has changed."""

    def __init__(self, machine: str, state: str, outcome: str) -> None:
        self.machine = machine
        self.state = state
        self.outcome = outcome
        super().__init__(f"machine {machine}: state {state} knows no outcome {outcome}")


class TraceError(FsmError):
    """A trace that cannot be used: `where` is file and line, `problem` says why."""

    def __init__(self, where: str, problem: str) -> None:
        self.where = where
        self.problem = problem
        super().__init__(f"{where}: {problem}")

"""What the model is told before the conversation begins, as parts in a fixed order.

`system.md` is the base prompt, `environment.py` looks at the place of work, `prompt.py` puts the
parts together. Descriptions of tools travel beside the system prompt and are the tools' own.
"""

from interlock.prompt.environment import environment_block
from interlock.prompt.prompt import (
    Part,
    base_prompt,
    estimated_tokens,
    system_blocks,
    system_parts,
)

__all__ = [
    "Part",
    "base_prompt",
    "environment_block",
    "estimated_tokens",
    "system_blocks",
    "system_parts",
]

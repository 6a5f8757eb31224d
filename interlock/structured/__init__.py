"""Answers that fit a JSON Schema: `--json-schema`, and `Options.json_schema`.

The model gives its answer through a tool, and a stop hook sends it back to work until it did: the
loop has no edge for it, and needs none.
"""

from interlock.structured.answer import NAME, StructuredAnswer
from interlock.structured.schema import AnswerSchema, schema_in

__all__ = ["NAME", "AnswerSchema", "StructuredAnswer", "schema_in"]

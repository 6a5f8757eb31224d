"""Skills and slash commands: instructions in files that are told when they are needed.

`finding` looks for them, `skill` reads what each says of itself, `listing` tells the model which
there are; `arguments` and `inserts` say how the text of one is filled in. Running what a text asks
for is not done here.
"""

from interlock.skills.arguments import Given, filled, takes_arguments, with_variables
from interlock.skills.book import SkillBook
from interlock.skills.finding import Catalogue, Problem, catalogue
from interlock.skills.inserts import Piece, Sort, pieces
from interlock.skills.listing import Changes, changes, listing
from interlock.skills.skill import Kind, Skill, Unreadable, load, read

__all__ = [
    "Catalogue",
    "Changes",
    "Given",
    "Kind",
    "Piece",
    "Problem",
    "Skill",
    "SkillBook",
    "Sort",
    "Unreadable",
    "catalogue",
    "changes",
    "filled",
    "listing",
    "load",
    "pieces",
    "read",
    "takes_arguments",
    "with_variables",
]

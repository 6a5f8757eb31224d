"""Children of an agent: other agents, each a run of the same machine.

Read `errand` for what a child is given and hands back, `crew` for how they are counted, watched
and ended, `nursery` for how one is made, `here` for how it runs. `definition`, `files` and
`catalogue` are about the types there are; `tools` are what a model calls; `kept` and `disk` what
is left on disk. Nothing is imported here: commands that only look at files need not load it all.
"""

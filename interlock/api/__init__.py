"""The door for programs: options in, typed messages and a result out.

`options` and `opening` make an agent of what a program asks, `session` keeps it open in a task of
its own, `query` and `client` are what is called. Names for users are in `interlock` itself, and
docs/api.md is for them.
"""

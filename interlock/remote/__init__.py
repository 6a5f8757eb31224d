"""Children on another machine: `interlock serve` runs them there, by the same port, over HTTP.

Read `wire` for what is said, `hosting` for how a run is kept there, `server` for HTTP, `client`
for the spawner that a session has. Nothing is imported here: most sessions need none of it.
"""

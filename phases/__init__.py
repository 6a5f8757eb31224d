"""The eight stations of the loop: what each does to the world, and what it then reports.

A phase is an async function (loop, ports) → outcome. It never names the next state: the table
does (`interlock/table.py`). `phases.world` holds the words that all of them speak.
"""

"""Pictures, PDFs and web pages: formats that strangers write, and that decoders trip over.

Each is decoded in a process of its own, with bounds on memory and time, which is ended with the
call: a hostile file can take neither the agent nor the event loop down with it. `apart` is the
way in; `picture`, `pdf` and `page` are what runs there. They import nothing of the agent's.
"""

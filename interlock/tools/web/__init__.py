"""WebFetch, from outside in: the tool (`fetch`), its hops over HTTP (`hops`), what came back as
text (`body`), and which addresses of the network may be reached at all (`addresses`)."""

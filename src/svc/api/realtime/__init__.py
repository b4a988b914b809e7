"""The two WebSocket protocols: text in as it is written, audio out as it is made.

routes.py       the paths, and what is checked before a socket is accepted
session.py      what both protocols share: authentication, reading, closing
protocols.py    stream-input (one text) and multi-stream-input (several texts, each with an id)
context.py      one text: takes its pieces, sends its audio
messages.py     what clients send, and what they get
connections.py  which sockets are open, and how they end at shutdown
"""

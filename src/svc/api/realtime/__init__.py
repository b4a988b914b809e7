"""The WebSocket protocols: text in as it is written, audio out as it is made.

routes.py           the paths, and what is checked before a socket is accepted
session.py          what all protocols share: authentication, reading, closing
multi_session.py    what those share that have several texts on one socket, each with an id
speech.py           stream-input and multi-stream-input with one voice
dialogue.py         the same two with several voices
context.py          one text or dialogue: takes its pieces, sends its audio
messages.py         what clients send
server_messages.py  what they get
connections.py      which sockets are open, and how they end at shutdown
"""

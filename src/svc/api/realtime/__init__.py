"""Text in as it is written, speech out as it is made: the two WebSocket protocols.

    api/realtime.py ──▶ session.py          how a socket begins, reads and ends
                          ├ stream_input.py        one text on a socket
                          └ multi_stream_input.py  several, each with an id
                        context.py          one text: takes it in, sends its speech
                        messages.py, frames.py     what clients send, and get
                        sockets.py          who is connected

A text that is written bit by bit is spoken by `speech.Dictation`, in the scheduler's thread.
"""

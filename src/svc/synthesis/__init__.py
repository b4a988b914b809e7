"""From a request to encoded audio. Every endpoint, socket and command synthesizes through this room.

request.py    what is asked for, and what comes out
pipeline.py   text → phrases → engine → chunks of speech → encoded parts
streaming.py  the same, for text that is still being written
alignment.py  when each of the caller's characters is heard
scheduler.py  which stream uses the engine next
"""

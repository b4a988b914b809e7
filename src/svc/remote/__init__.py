"""An engine in other processes, on this machine or on others: utterances go there, and audio comes back.

remote_engine.py     the engine that the API sees: each utterance goes to a replica of the real one
pronouncer.py        sentences may go to a replica, too, which finds their words
replicas.py          which replicas there are, and the connections to them
wire.py              what goes over such a connection
utterance_server.py  the other end of it
engine_host.py       the real engine, with a queue of its own
"""

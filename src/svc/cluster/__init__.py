"""The service on many machines: Ray Serve places, restarts and scales its parts. Audio goes past it, from part to part.

application.py       what Ray Serve deploys: the API and the engine, each an application of its own
api_replica.py       the API: the same web server as without a cluster
remote_engine.py     the engine that the API sees: each utterance goes to a replica of the real one
replicas.py          which replicas there are, and the connections to them
wire.py              what goes over such a connection
utterance_server.py  the other end of it
engine_replica.py    the real engine, with a queue of its own
autoscaling.py       how many replicas of the engine there should be
cluster.py           joins a cluster or starts one, deploys, and drains at the end

A replica owns nothing that another one needs: keys are in the keys table, voices in the object store, limits in Redis.
"""

"""The service on many machines: Ray Serve places, restarts and scales its parts. Audio goes past it, from part to part.

application.py       what Ray Serve deploys: the API and the engine, each an application of its own
api_replica.py       the API: the same web server as without a cluster
engine_replica.py    the engine, which the API reaches as `svc.remote` says
autoscaling.py       how many replicas of the engine there should be
cluster.py           joins a cluster or starts one, deploys, and drains at the end

A replica owns nothing that another one needs: keys are in the keys table, voices in the object store, limits in Redis.
"""

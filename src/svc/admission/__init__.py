"""Who may use the engine now: the limits of keys, and what the engine can do in time.

capacity.py   whether the engine can make all audio in time
admission.py  the limits, and the queue of those who wait
shared.py     limits that hold over all replicas: leases.py and rates.py in Redis, and local ones while it is down
"""

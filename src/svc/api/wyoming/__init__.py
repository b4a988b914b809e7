"""Wyoming, the protocol of Home Assistant's voice services, on a port of its own: see docs/wyoming.md.

events   what is read from a connection, within limits, and what is written
session  one connection: it describes the voices and speaks texts, one after the other
server   the port, and the connections
"""

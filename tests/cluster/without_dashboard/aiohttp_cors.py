"""Hides the package of this name from the processes that the tests start.

Without it Ray takes itself for an installation without its dashboard, and the agent of a node loads nothing for that. A node
waits but 15 seconds for its agent, and no setting changes that: with the dashboard it may take longer on a busy machine.
"""

raise ModuleNotFoundError("hidden by the tests", name="aiohttp_cors")

"""Hides the package of this name from the processes that the tests start.

Without it Ray takes itself for an installation without its dashboard, and the agent of a node loads nothing for that,
which takes seconds on a busy machine.
"""

raise ModuleNotFoundError("hidden by the tests", name="aiohttp_cors")

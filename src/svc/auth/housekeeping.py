"""Background maintenance of the keys table: recording when keys were last used, and deleting expired tokens."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from svc.auth.table import KeysTable
from svc.errors import KeysUnavailable
from svc.process.tasks import Supervisor

log = logging.getLogger(__name__)

_INTERVAL = 60.0
_BATCH = 1_000


class Housekeeping:
    def __init__(self, table: KeysTable | None, clock: Callable[[], float]) -> None:
        self._table = table
        self._clock = clock
        self._uses: dict[str, float] = {}

    def note_use(self, key_id: str) -> None:
        """Remembers a use of a key; it is written later, so that no request waits for it."""
        self._uses[key_id] = self._clock()

    @asynccontextmanager
    async def running(self, supervisor: Supervisor) -> AsyncIterator[None]:
        """Opens the table, tidies it once a minute, and closes it."""
        if self._table is None:
            yield
            return
        try:
            await self._table.open()
        except KeysUnavailable as error:  # every request tries again
            log.error("the keys table is unavailable: %s", error.reason)
        try:
            async with supervisor.repeating("key_housekeeping", self.tidy, _INTERVAL, expected=(KeysUnavailable,)):
                yield
        finally:
            try:
                await self.tidy()
            except KeysUnavailable as error:
                if self._uses:
                    log.warning("the last uses of keys are not recorded: %s", error.reason)
            finally:
                await self._table.close()

    async def tidy(self) -> None:
        """Writes the noted uses and deletes expired tokens. If that fails, the uses are written the next time."""
        if self._table is None:
            return
        uses, self._uses = self._uses, {}
        try:
            await self._table.note_uses(uses)
            while await self._table.delete_expired_tokens(self._clock(), _BATCH) == _BATCH:
                pass
        except BaseException:  # also when it is cancelled, at shutdown
            self._uses = {**uses, **self._uses}
            raise

"""Continuous batching: what many threads want from a GPU at the same time becomes one call with a list."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_AT_ONCE = 64
"""Items in a batch at most, and workers of a server whose engine batches: more would make each wait, and fill no GPU
better."""

_PATIENCE_SECONDS = 0.001


@dataclass(frozen=True, slots=True, eq=False)
class _Call(Generic[Item, Result]):
    item: Item
    size: int
    result: Future[Result] = field(default_factory=Future)


class Batcher(Generic[Item, Result]):
    """A function of one item that runs in batches: while one batch runs, the next one gathers.

    The callers come in the order of their deadlines (`svc.synthesis.fair_queue`), and who came first is in the next
    batch. Only items of one size share a batch, so that a short one does not take as long as a long one.
    """

    def __init__(
        self,
        run: Callable[[Sequence[Item]], Sequence[Result]],
        measure: Callable[[Item], int],
        *,
        most: Callable[[int], int],
        threads: int,
    ) -> None:
        """`measure` tells an item's size, and `most` how many of a size may share a batch. `run` may be called again
        with an item of a batch that failed. With two `threads`, one prepares a batch while the GPU computes that of the
        other."""
        self._run, self._measure, self._most = run, measure, most
        self._waiting: list[_Call[Item, Result]] = []
        self._arrived = threading.Condition()
        for number in range(threads):
            threading.Thread(target=self._serve, name=f"batch-{number}", daemon=True).start()

    def __call__(self, item: Item) -> Result:
        """Waits for the item's result; raises what its computation raised."""
        call: _Call[Item, Result] = _Call(item, self._measure(item))
        with self._arrived:
            self._waiting.append(call)
            self._arrived.notify()
        return call.result.result()

    def _serve(self) -> None:
        while True:
            if batch := self._gather():
                self._finish(batch)

    def _gather(self) -> list[_Call[Item, Result]]:
        with self._arrived:
            was_idle = not self._waiting
            self._arrived.wait_for(lambda: self._waiting)
        if was_idle:
            time.sleep(_PATIENCE_SECONDS)  # those who come at the same moment share the batch
        with self._arrived:
            if not self._waiting:  # another thread took it
                return []
            size = self._waiting[0].size
            batch = [call for call in self._waiting if call.size == size][: self._most(size)]
            taken = set(batch)
            self._waiting = [call for call in self._waiting if call not in taken]
        return batch

    def _finish(self, batch: list[_Call[Item, Result]]) -> None:
        try:
            results = self._run([call.item for call in batch])
        except Exception as error:
            if len(batch) == 1:
                batch[0].result.set_exception(error)
                return
            for call in batch:  # each by itself, so that only the one fails that cannot be computed
                self._finish([call])
        else:
            for call, result in zip(batch, results, strict=True):
                call.result.set_result(result)

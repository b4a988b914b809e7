"""The fake engine with chunks that take time, so that a stream can be disturbed in the middle of an utterance."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

from svc.engine.fake import FakeEngine
from svc.engine.protocol import Chunk, Engine, Utterance
from svc.serving.cluster.engine_replica import EngineReplica
from svc.settings import Settings

STEPS_FILE = "SVC_TEST_STEPS"


class SlowEngine(FakeEngine):
    """Notes every chunk in a file: one byte each."""

    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
        for chunk in super().synthesize(utterance):
            time.sleep(0.1)
            with Path(os.environ[STEPS_FILE]).open("ab") as steps:
                steps.write(b".")
            yield chunk


class SlowEngineReplica(EngineReplica):
    def _create_engine(self, settings: Settings) -> Engine:
        return SlowEngine()

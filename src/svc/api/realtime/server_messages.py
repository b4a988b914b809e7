"""What clients get over a socket."""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from svc.errors import SvcError
from svc.synthesis.alignment import Alignment
from svc.synthesis.pipeline import AudioPart

# Some clients drop a socket that sends more than a mebibyte at once.
_AUDIO_BYTES_A_FRAME = 60_000


@dataclass(frozen=True, slots=True)
class ServerMessages:
    """Writes the frames of one text."""

    context_id: str | None = None
    from_the_start: bool = False
    """Whether times count from the start of the text; otherwise each frame begins at 0."""

    def audio(self, part: AudioPart) -> Iterator[str]:
        begins = (
            0.0 if self.from_the_start else min([*part.alignment.starts[:1], *part.normalized.starts[:1]], default=0)
        )
        for piece in part.pieces(_AUDIO_BYTES_A_FRAME):
            yield self._frame(
                audio=base64.b64encode(piece.audio).decode(),
                isFinal=None,
                normalizedAlignment=_characters(piece.normalized, begins),
                alignment=_characters(piece.alignment, begins),
            )

    def final(self) -> str:
        """Says that nothing more comes. It has no audio: some clients look for that first, and no further."""
        both = {} if self.context_id is None else {"is_final": True}
        return self._frame(audio=None, isFinal=True, normalizedAlignment=None, alignment=None, **both)

    def error(self, error: SvcError) -> str:
        return self._frame(audio=None, message=error.message, error=error.status, code=error.close_code)

    def _frame(self, **fields: Any) -> str:
        if self.context_id is not None:
            fields |= {"contextId": self.context_id, "context_id": self.context_id}
        return json.dumps(fields)


def _characters(alignment: Alignment, begins: float) -> dict[str, Any] | None:
    if not alignment.characters:
        return None
    starts = [_milliseconds(time - begins) for time in alignment.starts]
    ends = [_milliseconds(time - begins) for time in alignment.ends]
    return {
        "chars": alignment.characters,
        "charStartTimesMs": starts,
        "charDurationsMs": [end - start for start, end in zip(starts, ends, strict=True)],
    }


def _milliseconds(seconds: float) -> int:
    return max(0, round(seconds * 1000))

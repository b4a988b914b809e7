"""What clients get over a socket: the messages of one text or dialogue."""

import base64
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from svc.errors import SvcError
from svc.synthesis.alignment import Alignment
from svc.synthesis.request import AudioPart

# Some clients drop a socket that sends more than a mebibyte at once.
_MAX_AUDIO_BYTES = 60_000


Message = TypeVar("Message")


class ServerMessages(ABC, Generic[Message]):
    """`Message` is what the protocol sends at a time."""

    @abstractmethod
    def audio(self, part: AudioPart) -> Iterator[Message]:
        """One message, or several if it is a lot of audio."""

    @abstractmethod
    def final(self) -> Message:
        """The last message."""

    def end_of_turn(self) -> Message | None:
        """That all audio of a turn has been sent, in protocols that tell it."""
        return None


@dataclass(frozen=True, slots=True)
class SocketMessages(ServerMessages[str]):
    """JSON in text frames."""

    context_id: str | None = None
    sync_alignment: bool = False

    @abstractmethod
    def error(self, error: SvcError) -> str: ...


class SpeechMessages(SocketMessages):
    """With `sync_alignment`, times count from the start of the text; otherwise from the start of each message."""

    def audio(self, part: AudioPart) -> Iterator[str]:
        for piece in part.split(_MAX_AUDIO_BYTES):
            start = None if self.sync_alignment else piece.start
            yield self._message(
                audio=_to_base64(piece.audio),
                isFinal=None,
                normalizedAlignment=_alignment_to_json(piece.normalized, start),
                alignment=_alignment_to_json(piece.alignment, start),
            )

    def final(self) -> str:
        """Its audio is null, because some clients look at that field first and at no other."""
        both = {} if self.context_id is None else {"is_final": True}
        return self._message(audio=None, isFinal=True, normalizedAlignment=None, alignment=None, **both)

    def error(self, error: SvcError) -> str:
        return self._message(audio=None, **_describe_error(error))

    def _message(self, **fields: Any) -> str:
        if self.context_id is not None:
            fields |= {"contextId": self.context_id, "context_id": self.context_id}
        return json.dumps(fields)


class DialogueMessages(SocketMessages):
    """Alignment is sent only with `sync_alignment`; its times count from the start of each message's audio.

    Some clients add up the audio and some add up the times: so the last character of a message lasts until the next
    message that has characters.
    """

    def audio(self, part: AudioPart) -> Iterator[str]:
        pieces = list(part.split(_MAX_AUDIO_BYTES))
        for index, piece in enumerate(pieces):
            fields: dict[str, Any] = {"audio": _to_base64(piece.audio)}
            if self.sync_alignment and (times := _list_times(piece.alignment, piece.start)):
                starts, durations = times
                end = next((each.start for each in pieces[index + 1 :] if each.alignment.characters), part.end)
                durations[-1] = max(durations[-1], _to_milliseconds(end - piece.start) - starts[-1])
                fields["alignment"] = {
                    "chars": piece.alignment.characters,
                    "char_start_times_ms": starts,
                    "char_durations_ms": durations,
                }
            yield self._message(**fields)

    def final(self) -> str:
        return self._message(is_final=True)

    def error(self, error: SvcError) -> str:
        return self._message(**_describe_error(error))

    def end_of_turn(self) -> str:
        return self._message(is_final_audio_for_turn=True)

    def _message(self, **fields: Any) -> str:
        if self.context_id is not None:
            fields["context_id"] = self.context_id
        return json.dumps(fields)


def _to_base64(audio: bytes) -> str:
    return base64.b64encode(audio).decode()


def _describe_error(error: SvcError) -> dict[str, Any]:
    param = {} if error.param is None else {"param": error.param}
    return {"message": error.message, "error": error.status, "code": error.close_code, **param}


def _alignment_to_json(alignment: Alignment, start: float | None) -> dict[str, Any] | None:
    """With a `start`, times count from there, and the first character begins with the message."""
    times = _list_times(alignment, start or 0.0)
    if times and start is not None:
        times[1][0] += times[0][0]
        times[0][0] = 0
    return times and {"chars": alignment.characters, "charStartTimesMs": times[0], "charDurationsMs": times[1]}


def _list_times(alignment: Alignment, start: float) -> tuple[list[int], list[int]] | None:
    """When each character begins and how long it lasts, in milliseconds; None if there are none."""
    if not alignment.characters:
        return None
    starts = [_to_milliseconds(time - start) for time in alignment.starts]
    ends = [_to_milliseconds(time - start) for time in alignment.ends]
    return starts, [end - start for start, end in zip(starts, ends, strict=True)]


def _to_milliseconds(seconds: float) -> int:
    """Rounded down, so that no character ends after the audio."""
    return max(0, int(seconds * 1000 + 1e-6))

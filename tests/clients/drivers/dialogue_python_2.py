"""Drives text-to-dialogue with PyPI's elevenlabs 2.x, which has models of socket messages and no client for sockets."""

import json
import sys
from typing import Any

from elevenlabs import (  # type: ignore[import-not-found]
    DialogueInput,
    TextToDialogueWebsocketAudioChunkMulti,
    TextToDialogueWebsocketClientMessage,
    TextToDialogueWebsocketClientMessageMulti,
    TextToDialogueWebsocketError,
    TextToDialogueWebsocketFinalAudioForTurnMulti,
    TextToDialogueWebsocketFinalMulti,
    TextToDialogueWebsocketVoiceInput,
    ToDialogueSettingsResponseModel,
)
from elevenlabs.client import ElevenLabs  # type: ignore[import-not-found]
from websockets.sync.client import connect

from tests.clients.drivers.report import report

ADDRESS, KEY, _, SCRIPT = sys.argv[1:]
PCM = "pcm_24000"
TURNS: list[dict[str, str]] = json.loads(SCRIPT)

eleven = ElevenLabs(base_url=ADDRESS, api_key=KEY).text_to_dialogue
inputs = [DialogueInput(**turn) for turn in TURNS]
voices = list(dict.fromkeys(turn["voice_id"] for turn in TURNS))

_MODELS = {
    "audio": TextToDialogueWebsocketAudioChunkMulti,
    "is_final_audio_for_turn": TextToDialogueWebsocketFinalAudioForTurnMulti,
    "is_final": TextToDialogueWebsocketFinalMulti,
    "error": TextToDialogueWebsocketError,
}


def _socket(kind: str, messages: list[Any]) -> list[Any]:
    """Sends the SDK's messages and reads the server's with the SDK's models."""
    url = f"{ADDRESS.replace('http', 'ws')}/v1/text-to-dialogue/{kind}?output_format={PCM}&sync_alignment=true"
    with connect(f"{url}&model_id=eleven_v4_turbo", additional_headers={"xi-api-key": KEY}) as socket:
        for message in messages:
            socket.send(json.dumps(message.dict()))
        received = [json.loads(each) for each in socket]
    return [_MODELS[next(name for name in _MODELS if name in each)].model_validate(each) for each in received]


def one_dialogue() -> list[Any]:
    message = TextToDialogueWebsocketClientMessage
    texts = [message(inputs=[TextToDialogueWebsocketVoiceInput(**turn)]) for turn in TURNS]
    return _socket("stream-input", [message(voices=voices), *texts, message(close_socket=True)])


def several_dialogues() -> list[Any]:
    message = TextToDialogueWebsocketClientMessageMulti
    names = ["one", "two"]
    registered = [message(context_id=name, voices=voices) for name in names]
    texts = [
        message(context_id=name, inputs=[TextToDialogueWebsocketVoiceInput(**turn)]) for turn in TURNS for name in names
    ]
    closed = [message(context_id=name, close_context=True) for name in names]
    return _socket("multi-stream-input", [*registered, *texts, *closed, message(close_socket=True)])


report(
    {
        "clip": lambda: b"".join(eleven.convert(inputs=inputs, output_format=PCM)),
        "stream": lambda: b"".join(
            eleven.stream(
                inputs=inputs,
                output_format=PCM,
                model_id="eleven_v3",
                settings=ToDialogueSettingsResponseModel(stability=0.5),
                language_code="en",
                seed=7,
                previous_text="Before.",
                future_text="After.",
            )
        ),
        "timestamps": lambda: eleven.convert_with_timestamps(inputs=inputs, output_format=PCM),
        "stream_timestamps": lambda: list(eleven.stream_with_timestamps(inputs=inputs, output_format=PCM)),
        "one_dialogue": one_dialogue,
        "several_dialogues": several_dialogues,
        "no_inputs": lambda: list(eleven.convert(inputs=[])),
    }
)

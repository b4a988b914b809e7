"""`…/stream-input`, from the first message to the close."""

import httpx
import pytest

from tests.api.realtime.conftest import Caller, Frame, Running, audio, join_characters

STORY = "Once, long ago, a fox paid $5 for a hat. It was too small, because foxes have large ears. The end."
START = {"text": " "}
END = {"text": ""}


def _send_pieces(service: Running, pieces: list[str], **query: str) -> list[Frame]:
    with service.open("stream-input", **query) as caller:
        caller.send(START, *({"text": piece} for piece in pieces), END)
        frames = caller.rest()
        assert caller.close_code == 1000
    return frames


def test_a_conversation(service: Running) -> None:
    *sound, final = _send_pieces(service, [STORY])
    assert final == {"audio": None, "isFinal": True, "normalizedAlignment": None, "alignment": None}
    for frame in sound:
        assert set(frame) == {"audio", "isFinal", "normalizedAlignment", "alignment"}
        assert frame["audio"]
        assert frame["isFinal"] is None
    assert join_characters(sound) == " " + STORY
    assert "five dollars" in join_characters(sound, "normalizedAlignment")


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_it_does_not_matter_how_the_text_is_cut(service: Running, size: int) -> None:
    pieces = [STORY[at : at + size] for at in range(0, len(STORY), size)]
    frames = _send_pieces(service, pieces)
    assert audio(frames) == audio(_send_pieces(service, [STORY]))
    assert join_characters(frames) == " " + STORY


def test_times_restart_in_each_frame_and_fill_it(service: Running) -> None:
    sound = [frame for frame in _send_pieces(service, [STORY]) if frame["alignment"]]
    assert len(sound) > 2
    for frame in sound:
        for alignment in (frame["alignment"], frame["normalizedAlignment"]):
            chars, starts, durations = alignment["chars"], alignment["charStartTimesMs"], alignment["charDurationsMs"]
            assert len(chars) == len(starts) == len(durations)
            assert all(isinstance(time, int) and time >= 0 for time in [*starts, *durations])
            assert starts == sorted(starts)
        assert frame["alignment"]["charStartTimesMs"][0] == 0
        spoken = starts[-1] + durations[-1]
        assert spoken == pytest.approx(len(audio([frame])) / 48, abs=2) or len(audio([frame])) == 60_000


def test_times_go_on_where_they_are_to_be_in_step(service: Running) -> None:
    frames = _send_pieces(service, [STORY], sync_alignment="true")
    starts = [time for frame in frames if frame["alignment"] for time in frame["alignment"]["charStartTimesMs"]]
    assert starts == sorted(starts)
    assert starts[-1] > 3000


def test_a_token_of_an_open_server_opens_a_socket(service: Running) -> None:
    token = httpx.post(f"{service.address}/v1/single-use-token/tts_websocket").json()["token"]
    assert audio(_send_pieces(service, ["Hello."], single_use_token=token))


def test_the_first_message_may_already_have_text(service: Running) -> None:
    with service.open("stream-input") as caller:
        caller.send({"text": "Hello ", "voice_settings": None, "try_trigger_generation": True}, END)
        assert join_characters(caller.rest()) == "Hello "


def test_a_flush_speaks_everything_and_keeps_the_socket(service: Running) -> None:
    with service.open("stream-input") as caller:
        caller.send(START, {"text": "one two", "flush": True})
        assert join_characters(caller.until(lambda frame: "o" in join_characters([frame])[-3:])) == " one two"
        caller.send({"flush": True}, {"text": " three"}, END)
        frames = caller.rest()
        assert join_characters(frames) == " three"
        assert [frame["isFinal"] for frame in frames].count(True) == 1
        assert caller.close_code == 1000


def test_settings_and_schedule_of_the_first_message_count(service: Running) -> None:
    lengths = []
    for speed in (0.7, 1.2):
        with service.open("stream-input") as caller:
            caller.send({"text": " ", "voice_settings": {"speed": speed}, "generation_config": None})
            lengths.append(len(audio(caller.send({"text": STORY}, END).rest())))
    assert lengths[0] > lengths[1]


@pytest.mark.parametrize("config", ["generation_config", "generator_config"])
def test_a_schedule_makes_speech_begin_sooner_or_later(service: Running, config: str) -> None:
    def ask(caller: Caller, schedule: list[int]) -> Caller:
        caller.send({"text": " ", config: {"chunk_length_schedule": schedule}})
        return caller.send({"text": "A phrase of thirty letters or so, and something more"})

    with service.open("stream-input") as caller:
        assert audio([ask(caller, [5]).next()])
    with service.open("stream-input") as caller, pytest.raises(TimeoutError):
        ask(caller, [500]).socket.recv(timeout=0.7)


def test_a_whole_sentence_is_not_waited_with_in_auto_mode(service: Running) -> None:
    with service.open("stream-input", auto_mode="true") as caller:
        caller.send(START, {"text": "A whole sentence."})
        assert join_characters(caller.until(lambda frame: "." in join_characters([frame]))) == " A whole sentence."


@pytest.mark.parametrize("output_format", ["mp3_44100_128", "opus_48000_64", "ulaw_8000", "pcm_48000", "mp3_22050_32"])
def test_every_frame_has_sound_in_every_format(service: Running, output_format: str) -> None:
    *sound, final = _send_pieces(service, [STORY], output_format=output_format)
    assert all(frame["audio"] for frame in sound)
    assert final["audio"] is None
    assert join_characters(sound).rstrip() == " " + STORY


def test_nothing_to_say_is_no_sound(service: Running) -> None:
    assert [frame["isFinal"] for frame in _send_pieces(service, ["😀"])] == [True]


def test_parameters_that_clients_send_and_that_change_nothing(service: Running) -> None:
    query = {
        "model_id": "Ellipsis",
        "optimize_streaming_latency": "4",
        "enable_logging": "True",
        "enable_ssml_parsing": "true",
        "inactivity_timeout": "300",
        "apply_text_normalization": "auto",
        "apply_language_text_normalization": "false",
        "seed": "nonsense",
        "unknown": "1",
    }
    assert join_characters(_send_pieces(service, ["Hello."], **query)) == " Hello."


def test_language_and_seed_change_the_sound(service: Running) -> None:
    plain = audio(_send_pieces(service, ["Restaurant on table."]))
    assert audio(_send_pieces(service, ["Restaurant on table."], language_code="fr")) != plain


def test_a_long_text_comes_in_frames_that_clients_take(service: Running) -> None:
    frames = _send_pieces(service, [STORY * 20], output_format="pcm_48000")
    assert max(len(frame["audio"] or "") for frame in frames) < 128 * 1024
    assert join_characters(frames).rstrip() == (" " + STORY * 20).rstrip()

"""Makes docs/images/dashboard.png: the real engine under load, a real Prometheus, and the dashboard's own queries.

python -m tests.browser.dashboard

Grafana itself is in no package index that the tests use, so the panels are drawn here, with their titles, units and
places as in deploy/monitoring/svc.json.
"""

import html
import json
import math
import multiprocessing
import random
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from svc.app import create_app
from svc.service import create_pipeline
from svc.settings import Settings
from tests.browser.conftest import launch_browser
from tests.browser.screenshots import make_recording
from tests.clients.conftest import serving, wait_until_ready
from tests.conftest import STORY
from tests.deploy import prometheus

_ROOT = Path(__file__).parents[2]
_DASHBOARD = json.loads((_ROOT / "deploy/monitoring/svc.json").read_text())
_IMAGE = _ROOT / "docs/images/dashboard.png"
_SENTENCES = [f"{sentence}." for sentence in STORY.rstrip(".").split(". ")]
_KEY = "dashboard"

# Seconds, and listeners at once: calm, busy, more than the engine can hold, calm again.
_PHASES = ((40, 1), (50, 3), (60, 16), (40, 2))
_SCRAPE_SECONDS = 2
_RATE = "15s"

_WIDTH, _COLUMNS, _ROW_HEIGHT, _GAP = 1500, 24, 26, 6
_COLOURS = (
    "#73bf69",
    "#f2cc0c",
    "#8ab8ff",
    "#ff780a",
    "#f2495c",
    "#b877d9",
    "#37872d",
    "#e0b400",
    "#447ebc",
    "#c15c17",
)


@contextmanager
def run_prometheus(target: str, folder: Path) -> Iterator[str]:
    """Scrapes the service every two seconds; its own address."""
    program = prometheus.find("prometheus")
    assert program, "run: python -m tests.deploy.prometheus"
    config = folder / "prometheus.yml"
    scrape = {
        "job_name": "svc",
        "authorization": {"credentials": _KEY},
        "static_configs": [{"targets": [target], "labels": {"instance": "svc:8000"}}],
    }
    config.write_text(json.dumps({"global": {"scrape_interval": f"{_SCRAPE_SECONDS}s"}, "scrape_configs": [scrape]}))
    address = "127.0.0.1:19090"
    arguments = [f"--config.file={config}", f"--storage.tsdb.path={folder}/series", f"--web.listen-address={address}"]
    with subprocess.Popen([program, *arguments], stderr=subprocess.DEVNULL) as process:
        try:
            yield f"http://{address}"
        finally:
            process.terminate()


def listen(address: str, until: float, seed: int) -> None:
    """Asks for one text after the other, as listeners do; some over sockets. Waits as a polite client if refused."""
    choose = random.Random(seed)
    while time.monotonic() < until:
        text = choose.choice([*_SENTENCES, STORY])
        try:
            if choose.random() < 0.3:
                _listen_on_socket(address, text)
            else:
                _listen_to_stream(address, text, choose)
        except (httpx.HTTPError, WebSocketException, OSError):
            time.sleep(1)


def _listen_to_stream(address: str, text: str, choose: random.Random) -> None:
    voice = choose.choice(["af_heart", "am_michael", "bf_emma"])
    url = f"{address}/v1/text-to-speech/{voice}/stream?output_format=pcm_24000"
    with httpx.stream("POST", url, json={"text": text}, headers={"xi-api-key": _KEY}, timeout=120) as answer:
        seconds = sum(map(len, answer.iter_raw())) / 48_000
    time.sleep(1 if answer.status_code == 429 else min(seconds, 4))


def _listen_on_socket(address: str, text: str) -> None:
    url = f"{address.replace('http', 'ws')}/v1/text-to-speech/af_heart/stream-input?output_format=pcm_24000"
    with connect(url, additional_headers={"xi-api-key": _KEY}) as socket:
        for word in text.split():
            socket.send(json.dumps({"text": f"{word} "}))
        socket.send(json.dumps({"text": ""}))
        list(socket)


def run_load(address: str, recording: Path) -> None:
    """The phases, with a clone, a wrong key and a path that nobody knows in between."""
    number = 0
    for seconds, listeners in _PHASES:
        until = time.monotonic() + seconds
        threads = []
        for _ in range(listeners):
            number += 1
            threads.append(threading.Thread(target=listen, args=(address, until, number)))
            threads[-1].start()
        if listeners == _PHASES[1][1]:
            headers = {"xi-api-key": _KEY}
            files = {"files": ("clip.wav", recording.read_bytes())}
            httpx.post(f"{address}/voices", data={"name": "Nora"}, files=files, headers=headers, timeout=120)
            httpx.get(f"{address}/v1/voices", headers={"xi-api-key": "wrong"})
            httpx.get(f"{address}/v1/nothing", headers=headers)
        for thread in threads:
            thread.join()


class Queries:
    def __init__(self, address: str, begin: float, end: float) -> None:
        self._client = httpx.Client(base_url=address, timeout=60)
        self._begin, self._end = begin, end

    def read(self, target: dict[str, Any]) -> list[tuple[str, list[tuple[float, float]]]]:
        """The series of a target with their legends; time runs from 0 to 1."""
        query = target["expr"].replace("$__rate_interval", _RATE).replace("$instance", ".*")
        times = {"start": self._begin, "end": self._end, "step": _SCRAPE_SECONDS}
        answer = self._client.get("/api/v1/query_range", params={"query": query, **times}).raise_for_status().json()
        series = []
        for result in answer["data"]["result"]:
            name = target["legendFormat"]
            for label, value in result["metric"].items():
                name = name.replace(f"{{{{{label}}}}}", value)
            points = [
                ((float(at) - self._begin) / (self._end - self._begin), float(value)) for at, value in result["values"]
            ]
            series.append((name, [(at, value) for at, value in points if math.isfinite(value)]))
        return [each for each in series if each[1]]


def show(value: float, unit: str) -> str:
    if unit == "percentunit":
        return f"{100 * value:.0f} %"
    if unit == "bytes":
        return f"{value / 2**20:.0f} MiB"
    if unit == "s":
        return f"{value:.3g} s" if value >= 1 or value == 0 else f"{1000 * value:.3g} ms"
    suffix = {"reqps": "/s", "cps": "/s"}.get(unit, "")
    return f"{value:.3g}{suffix}" if value < 10_000 else f"{value:,.0f}{suffix}"


def draw_stat(panel: dict[str, Any], queries: Queries) -> str:
    (target,) = panel["targets"]
    series = queries.read(target)
    defaults = panel["fieldConfig"]["defaults"]
    value = series[0][1][-1][1] if series else 0.0
    text = series[0][0] if panel["options"]["textMode"] == "name" and series else show(value, defaults["unit"])
    for mapping in defaults.get("mappings", []):
        text = mapping["options"].get(f"{value:g}", {}).get("text", text)
    return f'<div class="stat">{html.escape(text)}</div>'


def draw_series(panel: dict[str, Any], queries: Queries, width: float, height: float) -> str:
    defaults = panel["fieldConfig"]["defaults"]
    series = [each for target in panel["targets"] for each in queries.read(target)]
    if not series:
        return '<div class="empty">No data</div>'
    if "stacking" in defaults["custom"]:
        series = _stack(series)
    left, bottom = 58.0, 18.0
    inner_width, inner_height = width - left - 12, height - bottom - 26
    highest = defaults.get("max") or 1.08 * max(value for _, points in series for _, value in points) or 1.0

    def place(point: tuple[float, float]) -> str:
        return f"{left + point[0] * inner_width:.1f},{4 + inner_height * (1 - min(point[1] / highest, 1)):.1f}"

    parts = []
    for step in range(4):
        y = 4 + inner_height * step / 3
        label = show(highest * (1 - step / 3), defaults["unit"])
        parts.append(f'<line x1="{left}" x2="{left + inner_width}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{left - 5}" y="{y + 4}" text-anchor="end">{label}</text>')
    minutes = (queries._end - queries._begin) / 60
    for minute in range(math.floor(minutes) + 1):
        x = left + inner_width * minute / minutes
        parts.append(f'<text x="{x}" y="{inner_height + 18}" text-anchor="middle">{minute} min</text>')
    for colour, (_, points) in reversed(list(zip(_COLOURS * 2, series, strict=False))):
        line = " ".join(map(place, points))
        first, last = place((points[0][0], 0)), place((points[-1][0], 0))
        parts.append(f'<polygon points="{first} {line} {last}" fill="{colour}" fill-opacity="0.09"/>')
        parts.append(f'<polyline points="{line}" stroke="{colour}"/>')
    legend = "".join(
        f'<span><i style="background:{colour}"></i>{html.escape(name)}</span>'
        for colour, (name, _) in zip(_COLOURS * 2, series, strict=False)
    )
    return f'<svg width="{width}" height="{inner_height + 24}">{"".join(parts)}</svg><div class="legend">{legend}</div>'


def _stack(series: list[tuple[str, list[tuple[float, float]]]]) -> list[tuple[str, list[tuple[float, float]]]]:
    sums: dict[float, float] = {}
    stacked = []
    for name, points in series:
        for at, value in points:
            sums[at] = sums.get(at, 0.0) + value
        stacked.append((name, [(at, sums[at]) for at, _ in points]))
    return stacked


def draw_page(queries: Queries) -> str:
    cell = _WIDTH / _COLUMNS
    parts = []
    for panel in _DASHBOARD["panels"]:
        place = panel["gridPos"]
        width, height = place["w"] * cell - _GAP, place["h"] * _ROW_HEIGHT - _GAP
        style = f"left:{place['x'] * cell}px;top:{place['y'] * _ROW_HEIGHT}px;width:{width}px;height:{height}px"
        title = html.escape(panel["title"])
        if panel["type"] == "row":
            parts.append(f'<div class="row" style="{style}">{title}</div>')
            continue
        body = draw_stat(panel, queries) if panel["type"] == "stat" else draw_series(panel, queries, width, height - 24)
        parts.append(f'<div class="panel" style="{style}"><h2>{title}</h2>{body}</div>')
    height = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in _DASHBOARD["panels"]) * _ROW_HEIGHT
    return f"""<!doctype html><meta charset="utf-8"><style>
      body {{ margin: 8px; background: #111217; color: #ccccdc; font: 12px "DejaVu Sans", sans-serif; }}
      main {{ position: relative; width: {_WIDTH}px; height: {height}px; }}
      .row, .panel {{ position: absolute; box-sizing: border-box; overflow: hidden; }}
      .row {{ font-size: 14px; line-height: 22px; }}
      .panel {{ background: #181b1f; border: 1px solid #2c2f36; border-radius: 2px; }}
      h2 {{ font-size: 12px; font-weight: 500; margin: 5px 8px 2px; }}
      .stat {{ font-size: 26px; color: #73bf69; text-align: center; margin-top: 14px; }}
      .empty {{ text-align: center; color: #7b8087; margin-top: 50px; }}
      svg {{ display: block; }} svg line {{ stroke: #2c2f36; }} svg text {{ fill: #9a9ea6; font-size: 10px; }}
      svg polyline {{ fill: none; stroke-width: 1.6; }}
      .legend {{ margin: 0 8px; white-space: nowrap; font-size: 10px; }} .legend span {{ margin-right: 10px; }}
      .legend i {{ display: inline-block; width: 10px; height: 3px; margin: 0 4px 3px 0; }}
    </style><main>{"".join(parts)}</main>"""


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = Settings(
            data_dir=folder / "data", cache_dir=folder / "cache", voice_mirror=f"file://{folder}/mirror", api_key=_KEY
        )
        pipeline = create_pipeline(settings)
        with serving(create_app(settings, pipeline)) as address:
            wait_until_ready(address)
            recording = make_recording(pipeline, folder)
            with run_prometheus(address.removeprefix("http://"), folder) as prometheus_address:
                begin = time.time() + 5
                time.sleep(5)
                # In a process of its own, so that it does not take the server's interpreter.
                load = multiprocessing.get_context("spawn").Process(target=run_load, args=(address, recording))
                load.start()
                load.join()
                time.sleep(10)
                page = folder / "dashboard.html"
                page.write_text(draw_page(Queries(prometheus_address, begin, time.time())))
        with launch_browser() as browser:
            view = browser.new_page(viewport={"width": _WIDTH + 16, "height": 800})
            view.goto(page.as_uri())
            view.screenshot(path=_IMAGE, full_page=True)
    print(f"{_IMAGE}: {_IMAGE.stat().st_size} bytes")


if __name__ == "__main__":
    main()

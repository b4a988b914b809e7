"""Runs the service with the published Kokoro for its engine, to compare with from outside:

    python -m bench.kokoro_server --port 8001

Settings are those of `svc serve`; one process, and by default a worker for every two cores.
"""

import argparse
import asyncio

from bench.kokoro_engine import KokoroEngine
from svc.app import create_app
from svc.observability import logs
from svc.process import memory
from svc.process.cpus import count_cpus
from svc.serving.server import create_server, open_socket
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0 picks a free port")
    args = parser.parse_args()
    workers = max(1, count_cpus() // 2)
    settings = Settings(host=args.host, port=args.port, workers=workers, threads=max(1, count_cpus() // workers))
    logs.configure(settings.log_format)
    engine = KokoroEngine(settings.threads)
    pipeline = Pipeline(engine, Phonemizer(settings.cache_dir), settings.watermark, settings.max_audio_seconds)
    with open_socket(settings.host, settings.port, "--port") as listening:
        app = create_app(settings, pipeline, after_load=memory.freeze)
        asyncio.run(create_server(app, settings).serve([listening]))


if __name__ == "__main__":
    main()

"""Polls `GET /health` every 10 ms in a process of its own: `python -m bench.load.poll_health PORT`.

Every line on standard input begins a section of that name. At the end of the input it prints the latencies of all
sections as JSON.
"""

import json
import re
import socket
import sys
import threading
import time

_EVERY = 0.01
_REQUEST = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
_ANSWERS_WITHIN = 60.0


def _read_answer(connection: socket.socket) -> bool:
    """Head and body, which may come apart; False if the connection ends before."""
    data = b""
    while not (found := re.search(rb"content-length: (\d+).*?\r\n\r\n", data, re.DOTALL)) or (
        len(data) < found.end() + int(found[1])
    ):
        part = connection.recv(4096)
        if not part:
            return False
        data += part
    return True


def main() -> None:
    latencies: dict[str, list[float]] = {}
    section, done = ["start"], threading.Event()

    def poll() -> None:
        connection: socket.socket | None = None
        while not done.is_set():
            name, began = section[0], time.monotonic()
            try:
                connection = connection or socket.create_connection(("127.0.0.1", int(sys.argv[1])), _ANSWERS_WITHIN)
                connection.sendall(_REQUEST)
                if not _read_answer(connection):
                    connection = None  # closed by the server: not an answer
                    continue
            except OSError:
                connection = None
                time.sleep(_EVERY)
                continue
            latency = time.monotonic() - began
            latencies.setdefault(name, []).append(latency)
            time.sleep(max(0.0, _EVERY - latency))

    polling = threading.Thread(target=poll)
    polling.start()
    for line in sys.stdin:
        section[0] = line.strip()
    done.set()
    polling.join()
    print(json.dumps(latencies))


if __name__ == "__main__":
    main()

"""Polls `GET /health` every 10 ms in a process of its own: `python -m bench.load.poll_health PORT`.

Every line on standard input begins a section of that name. At the end of the input it prints the latencies of all
sections as JSON.
"""

import json
import socket
import sys
import threading
import time

_EVERY = 0.01
_REQUEST = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
_ANSWERS_WITHIN = 60.0


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
                if not connection.recv(4096):
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

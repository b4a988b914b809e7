"""`svc`, loaded once: each call is a fork of this process, so that many of them take hardly any time.

A caller sends its arguments, folder and environment over a socket, along with its standard streams. It is told the id
of the process that works for it, and then how that ended.
"""

import json
import os
import signal
import socket
import sys
from typing import NoReturn, TypedDict

import svc.auth.sqlite  # noqa: F401  (what the commands load only when they need it)
from svc.cli import voices
from svc.cli.main import main
from tests.cloning.fakes import load_fake_encoder


class Call(TypedDict):
    arguments: list[str]
    folder: str
    environment: dict[str, str]


def serve(address: str) -> NoReturn:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody has to be waited for
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        while True:
            caller, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _answer(caller)
            caller.close()


def _answer(caller: socket.socket) -> NoReturn:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    message, streams, *_ = socket.recv_fds(caller, 1_000_000, 3)
    worker = os.fork()
    if worker == 0:
        _work(json.loads(message), streams)
    caller.sendall(f"{worker}\n".encode())
    _, status = os.waitpid(worker, 0)
    caller.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _work(call: Call, streams: list[int]) -> NoReturn:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(call["environment"])
    os.chdir(call["folder"])
    sys.argv = ["svc", *call["arguments"]]
    status = 0
    try:
        main()
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    voices.load_speaker_encoder = load_fake_encoder  # type: ignore[attr-defined]
    serve(sys.argv[1])

"""Refuses files over 1 MB in git, except the networks listed here with their sha256.

    python scripts/check_large_files.py

It checks what is tracked or staged. Every version of a network stays in the history for good, so a retrained one is
committed once, when it is better by the measure it was trained for: together with its new sha256 in the list below.
"""

import hashlib
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
LIST = Path(__file__).name
LIMIT = 1_000_000
"""Bytes."""


class Allowed(NamedTuple):
    path: str
    sha256: str
    reason: str


ALLOWED = (
    Allowed(
        "src/svc/data/refinement.onnx",
        "358043028d42a3a3ca530a366a9a94176ce4053aa746467d57ffd45345ba9dc8",
        "gradients of a voice's similarity, for refinement",
    ),
    Allowed(
        "src/svc/data/refinement-targets.onnx",
        "53a6a84a4f54bb7e74d8f668bed11fe37484eb77f6677cba3d1fcf6b8016f3ec",
        "what refinement compares a voice with",
    ),
    Allowed(
        "src/svc/data/turbo-batch-speech.onnx",
        "31066d4e82d52799a30eecb415cf9f4b21655ddc7bcba5a9355409ba37757926",
        "all networks of svc-turbo in one, for a GPU",
    ),
    Allowed(
        "src/svc/data/turbo-conditioning.onnx",
        "fbcf5f0a7f72a016f4dc481222b5b5ca117d48b0ec2fc048f9afa26326d4776a",
        "a network of svc-turbo",
    ),
    Allowed(
        "src/svc/data/turbo-curves.onnx",
        "f8f759356d382261a1ea9bb5356658cc07773010acb1d2f78a3b76951448820f",
        "a network of svc-turbo",
    ),
    Allowed(
        "src/svc/data/turbo-decoder.onnx",
        "16751f38e295423b3a327b421081fd1062a78995ff23bd29ebbc1d7c3f1be1bb",
        "a network of svc-turbo",
    ),
    Allowed(
        "src/svc/data/turbo-head.onnx",
        "cd14827db26a5cfa3d11b932b558a72df1c85e45125ef85d2a8b781d64102414",
        "a network of svc-turbo",
    ),
    Allowed(
        "src/svc/data/turbo-prosody.onnx",
        "3b0a5efba97f57c2e74a7dbd03cb8672b672c255c56959f2cd4f65fac3dbdbc5",
        "a network of svc-turbo",
    ),
    Allowed(
        "src/svc/data/turbo-text.onnx",
        "48dc6631e7075d6941518009a1cf8b64f294fb74168657c59be83ef347b2b9ce",
        "a network of svc-turbo",
    ),
    Allowed(
        "src/svc/data/voice-encoder.onnx",
        "ac6ac81f0e1357cda80c5b29af4478c236288a0730bc74f064d47a26e50857c7",
        "the speaker networks of cloning",
    ),
    Allowed(
        "src/svc/data/voice-mapper.onnx",
        "38d09b45a74342e3cb94c07f8ca4340cba9d73bf1eb863b207e2159f9f32f239",
        "the mapper of cloning, from embeddings to voices",
    ),
)


class StagedFile(NamedTuple):
    path: str
    blob: str
    size: int


def main() -> int:
    problems = find_problems(ROOT)
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


def find_problems(root: Path, allowed: Sequence[Allowed] = ALLOWED) -> list[str]:
    """One line for each large file that may not be committed, and for each entry of the list without its file."""
    expected = {each.path: each.sha256 for each in allowed}
    problems, found = [], set()
    for file in _read_index(root):
        if file.size <= LIMIT:
            continue
        found.add(file.path)
        if file.path not in expected:
            problems.append(f"{file.path} has {file.size / 1e6:.1f} MB; files over 1 MB do not belong in git.")
            continue
        sha256 = hashlib.sha256(_run_git(root, "cat-file", "blob", file.blob)).hexdigest()
        if sha256 != expected[file.path]:
            problems.append(f"{file.path} has changed. To commit it, list its sha256 in {LIST}: {sha256}")
    missing = sorted(expected.keys() - found)
    return problems + [f"{path} is listed in {LIST}, but git has no such large file." for path in missing]


def _read_index(root: Path) -> Iterator[StagedFile]:
    """All files in git's index: tracked ones, with staged changes."""
    entries = [entry.split("\t", 1) for entry in _run_git(root, "ls-files", "-sz").decode().split("\0") if entry]
    files = [(info.split()[1], path) for info, path in entries if not info.startswith("160000")]  # a submodule
    names = "".join(f"{blob}\n" for blob, _ in files).encode()
    sizes = _run_git(root, "cat-file", "--batch-check=%(objectsize)", content=names).split()
    for (blob, path), size in zip(files, sizes, strict=True):
        yield StagedFile(path, blob, int(size))


def _run_git(root: Path, *arguments: str, content: bytes | None = None) -> bytes:
    return subprocess.run(["git", *arguments], cwd=root, input=content, stdout=subprocess.PIPE, check=True).stdout


if __name__ == "__main__":
    raise SystemExit(main())

"""The control groups of Linux, which bound what a container may use."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath


def list_groups(root: Path, controller: str) -> Iterator[tuple[int, Path]]:
    """The version and the folder of the groups that this process is in, and of those around them.

    `controller` is what a group of version 1 has to be for, such as `cpu`. Not every folder exists.
    """
    try:
        memberships = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for membership in memberships:
        number, _, rest = membership.partition(":")
        controllers, _, path = rest.partition(":")
        # Inside a container the path may be the one on its host, of which only the root exists here.
        groups = (PurePosixPath(path.lstrip("/")), *PurePosixPath(path.lstrip("/")).parents)
        mount = root / "sys/fs/cgroup"
        if number == "0":
            yield from ((2, mount / group) for group in groups)
        elif controller in controllers.split(","):
            yield from ((1, mount / name / group) for name in (controller, controllers) for group in groups)


def read_words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []

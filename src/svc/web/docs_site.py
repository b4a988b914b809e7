"""Where the guides are: which pages and pictures there are, and in which order."""

from importlib.resources import files
from pathlib import Path

from svc.web.markdown_page import Page, linked

INDEX = "README"
PICTURES = frozenset({".png", ".jpg", ".svg", ".webp"})


def find() -> Path:
    """The folder with the guides: in the wheel, or in the checkout that this runs from."""
    installed = Path(str(files("svc"))) / "docs"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "docs"


class DocsSite:
    """The guides of a folder. Each is rendered when it is first asked for, and kept."""

    def __init__(self, folder: Path) -> None:
        self._files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
        self._pages: dict[str, Page] = {}
        index = self._files.get(f"{INDEX}.md")
        self.contents = linked(index.read_text("utf-8")) if index else []
        """What the first page leads to: the name of each guide and what it is called, in the order of that page."""

    def page(self, name: str) -> Page | None:
        if name not in self._pages:
            if (path := self._files.get(f"{name}.md")) is None:
                return None
            self._pages[name] = Page.of(path.read_text("utf-8"), name, self._files.keys())
        return self._pages[name]

    def picture(self, name: str) -> Path | None:
        path = self._files.get(name)
        return path if path is not None and path.suffix in PICTURES else None

"""`svc dictionaries`: lists, shows, adds, removes and exports pronunciation dictionaries."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from svc.auth.keys import ANYONE, COMMAND_LINE
from svc.dictionaries.catalogue import Dictionaries
from svc.dictionaries.dictionary import Dictionary
from svc.dictionaries.lexicon import MAX_LEXICON_BYTES, Lexicon, parse_lexicon, write_lexicon
from svc.dictionaries.rules import InvalidRule, make_alias, make_phoneme, rule_to_json
from svc.errors import InvalidLexicon
from svc.service import create_dictionaries
from svc.settings import Settings
from svc.text.pronunciation_rules import PronunciationRule

app = typer.Typer(invoke_without_command=True, help="List, show, add, remove and export pronunciation dictionaries.")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DictionaryId = Annotated[str, typer.Argument(metavar="DICTIONARY_ID", help="The id of a dictionary, as listed.")]
VersionId = Annotated[str, typer.Option("--version", help="The id of a version.  [default: the latest]")]


@app.callback()
def dictionaries(context: typer.Context, as_json: AsJson = False) -> None:
    """List, show, add, remove and export pronunciation dictionaries."""
    if context.invoked_subcommand is None:
        list_dictionaries(as_json)


@app.command("list")
def list_dictionaries(as_json: AsJson = False) -> None:
    """List the dictionaries, also those that are archived."""
    rows = [_describe(each) for each in sorted(_open().list_for(ANYONE), key=lambda each: each.name.lower())]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    table = Table("name", "id", "latest version", "rules", "created", "", box=None)
    for row in rows:
        created = f"{datetime.fromtimestamp(int(str(row['created_at'])), UTC):%Y-%m-%d}"
        archived = "archived" if row["archived_at"] else ""
        name, *ids = (escape(str(row[column])) for column in ("name", "id", "version_id", "rules"))
        table.add_row(name, *ids, created, archived)
    Console().print(table)


@app.command()
def show(dictionary_id: DictionaryId, version: VersionId = "", as_json: AsJson = False) -> None:
    """Show the rules of a dictionary, in the order in which they are tried."""
    known = _open()
    dictionary = known.find(dictionary_id)
    rules = known.read_version(dictionary_id, version or dictionary.version_id).rules
    if as_json:
        typer.echo(json.dumps({**_describe(dictionary), "rules": [*map(rule_to_json, rules)]}, indent=2))
        return
    table = Table("string", "is read as", "alphabet", "", box=None)
    for rule in rules:
        remarks = [] if rule.case_sensitive else ["any case"]
        remarks += [] if rule.word_boundaries else ["also within words"]
        alphabet = rule.alphabet.value if rule.alphabet else ""
        table.add_row(escape(rule.string), escape(rule.replacement), alphabet, ", ".join(remarks))
    Console().print(table)


@app.command()
def add(
    file: Annotated[Path | None, typer.Argument(help="A lexicon: a file in the W3C's format PLS 1.0.")] = None,
    name: Annotated[str, typer.Option(help="The name of the dictionary.  [default: the name of the file]")] = "",
    description: Annotated[str, typer.Option(help="A short description of the dictionary.")] = "",
    rule: Annotated[
        list[str] | None,
        typer.Option(help='A rule such as "UN=United Nations", or "tomato=/təˈmɑːtoʊ/" with IPA; repeatable.'),
    ] = None,
) -> None:
    """Add a dictionary from a file, rules, or both. Prints its id. A running server notices within seconds."""
    name = " ".join((name or (file.stem if file else "")).split())
    if not name or len(name) > 100 or not name.isprintable():
        raise typer.BadParameter("Give a name of 1 to 100 printable characters: --name.")
    if file is None and not rule:
        raise typer.BadParameter("Give a file, or rules: --rule.")
    lexicon = _read_lexicon(file) if file else Lexicon([])
    lexicon.rules.extend(_parse_rule(each) for each in rule or [])
    typer.echo(_open().add(name, description, lexicon, COMMAND_LINE).dictionary_id)


@app.command()
def remove(dictionary_id: DictionaryId) -> None:
    """Remove a dictionary with all of its versions permanently. A running server notices within seconds."""
    _open().remove(dictionary_id)


@app.command("export")
def export_dictionary(
    dictionary_id: DictionaryId,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write, such as names.pls.")],
    version: VersionId = "",
) -> None:
    """Export a dictionary as a lexicon, a file in the W3C's format PLS 1.0."""
    known = _open()
    found = known.read_version(dictionary_id, version or known.find(dictionary_id).version_id)
    output.write_bytes(write_lexicon(Lexicon(list(found.rules), found.language)))


def _open() -> Dictionaries:
    found = create_dictionaries(Settings())
    found.refresh()
    return found


def _describe(dictionary: Dictionary) -> dict[str, object]:
    return {
        "id": dictionary.dictionary_id,
        "name": dictionary.name,
        "description": dictionary.description,
        "version_id": dictionary.version_id,
        "rules": dictionary.rules_num,
        "created_at": dictionary.created_at,
        "archived_at": dictionary.archived_at,
    }


def _read_lexicon(file: Path) -> Lexicon:
    if file.stat().st_size > MAX_LEXICON_BYTES:
        raise InvalidLexicon(f"it is larger than {MAX_LEXICON_BYTES} bytes")
    return parse_lexicon(file.read_bytes())


def _parse_rule(text: str) -> PronunciationRule:
    string, equals, replacement = text.partition("=")
    try:
        if not equals:
            raise InvalidRule("alias", 'give a string and what is read, such as "UN=United Nations"')
        ipa = replacement.strip().removeprefix("/").removesuffix("/")
        if replacement.strip() == f"/{ipa}/":
            return make_phoneme(string, ipa, "ipa", case_sensitive=True, word_boundaries=True)
        return make_alias(string, replacement, case_sensitive=True, word_boundaries=True)
    except InvalidRule as problem:
        raise typer.BadParameter(f"Invalid rule {text[:60]}: {problem}.") from None

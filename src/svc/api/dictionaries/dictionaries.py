"""`/v1/pronunciation-dictionaries`: lists, adds, changes, downloads and removes pronunciation dictionaries."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from svc.api.authentication import get_principal
from svc.api.dictionaries.schemas import (
    AddedDictionary,
    ChangedRules,
    DictionaryChanges,
    DictionaryPage,
    DictionaryQuery,
    DictionaryShape,
    DictionaryWithRules,
    NewDictionaryBody,
    RulesBody,
    RuleStringsBody,
    render_with_rules,
)
from svc.api.errors import ProblemsShape
from svc.api.middleware.bodies import JsonRoute
from svc.api.speech.schemas import LONGEST_DESCRIPTION
from svc.api.voices.schemas import Done
from svc.api.voices.uploads import MAX_NAME_LENGTH, Upload, invalid_field, read_upload
from svc.dictionaries.catalogue import Dictionaries
from svc.dictionaries.lexicon import Lexicon, parse_lexicon, write_lexicon
from svc.dictionaries.rules import MAX_RULES, add_rules, remove_rules
from svc.text.pronunciation_rules import PronunciationRule

_CONTENT_TYPE = "application/pls+xml"
_FILE_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {
                        "name": {"type": "string", "maxLength": MAX_NAME_LENGTH},
                        "file": {"type": "string", "format": "binary", "description": "A lexicon: PLS 1.0."},
                        "description": {"type": "string", "maxLength": LONGEST_DESCRIPTION},
                    },
                }
            }
        },
    }
}


def router(dictionaries: Dictionaries) -> APIRouter:
    router = APIRouter(
        prefix="/v1/pronunciation-dictionaries",
        tags=["pronunciation dictionaries"],
        responses={422: {"model": ProblemsShape}},
        route_class=JsonRoute,
    )

    async def add(upload: Upload, lexicon: Lexicon, request: Request) -> AddedDictionary:
        name, caller = _require_name(upload), get_principal(request)
        added = await asyncio.to_thread(dictionaries.add, name, upload.description() or "", lexicon, caller)
        return AddedDictionary.describe(added)

    async def edit_rules(
        dictionary_id: str, edit: Callable[[Sequence[PronunciationRule]], Sequence[PronunciationRule]]
    ) -> ChangedRules:
        return ChangedRules.describe(await asyncio.to_thread(dictionaries.edit_rules, dictionary_id, edit))

    @router.get("")
    def list_dictionaries(query: Annotated[DictionaryQuery, Query()], request: Request) -> DictionaryPage:
        """The dictionaries, without their rules, page by page."""
        caller = get_principal(request)
        return query.cut_page(dictionaries.list_for(caller), caller)

    @router.post("/add-from-file", openapi_extra=_FILE_BODY)
    async def add_from_file(request: Request) -> AddedDictionary:
        """Adds a dictionary with the rules of a lexicon: a file in the W3C's format PLS 1.0."""
        upload = await read_upload(request, Upload.check)
        _require_name(upload)
        if len(upload.clips) > 1:
            raise invalid_field("file", "only one file is allowed")
        lexicon = await asyncio.to_thread(parse_lexicon, upload.clips[0]) if upload.clips else Lexicon([])
        return await add(upload, lexicon, request)

    @router.post("/add-from-rules")
    async def add_from_rules(body: NewDictionaryBody, request: Request) -> AddedDictionary:
        """Adds a dictionary with these rules."""
        upload = Upload([], {"name": body.name, "description": body.description})
        upload.check()
        return await add(upload, Lexicon(await asyncio.to_thread(body.to_rules)), request)

    @router.post("/{dictionary_id}/set-rules")
    async def set_rules(dictionary_id: str, body: RulesBody, request: Request) -> ChangedRules:
        """Makes a version with these rules instead of all others."""
        dictionaries.find_changeable(dictionary_id, get_principal(request))
        rules = await asyncio.to_thread(body.to_rules)
        return await edit_rules(dictionary_id, lambda _: rules)

    @router.post("/{dictionary_id}/add-rules")
    async def add_more_rules(dictionary_id: str, body: RulesBody, request: Request) -> ChangedRules:
        """Makes a version with these rules in addition. One for the same string is replaced."""
        dictionaries.find_changeable(dictionary_id, get_principal(request))
        rules = await asyncio.to_thread(body.to_rules)

        def merge(known: Sequence[PronunciationRule]) -> list[PronunciationRule]:
            merged = add_rules(known, rules)
            if len(merged) > MAX_RULES:
                raise invalid_field("rules", f"the dictionary would have more than {MAX_RULES} rules")
            return merged

        return await edit_rules(dictionary_id, merge)

    @router.post("/{dictionary_id}/remove-rules")
    async def remove_some_rules(dictionary_id: str, body: RuleStringsBody, request: Request) -> ChangedRules:
        """Makes a version without the rules for these strings."""
        dictionaries.find_changeable(dictionary_id, get_principal(request))
        return await edit_rules(dictionary_id, lambda known: remove_rules(known, body.rule_strings))

    @router.get("/{dictionary_id}", response_model=DictionaryWithRules)
    def get_dictionary(dictionary_id: str, request: Request) -> Response:
        """One dictionary, with the rules of its latest version."""
        caller = get_principal(request)
        dictionary = dictionaries.find(dictionary_id, caller)
        version = dictionaries.read_version(dictionary_id, dictionary.version_id)
        return Response(render_with_rules(dictionary, version, caller), media_type="application/json")

    @router.patch("/{dictionary_id}")
    async def edit_dictionary(dictionary_id: str, body: DictionaryChanges, request: Request) -> DictionaryShape:
        """Renames a dictionary, archives it, or takes it out of the archive. One that is archived can still be used."""
        caller = get_principal(request)
        dictionaries.find_changeable(dictionary_id, caller)
        name = Upload([], {"name": body.name}).name()
        changed = await asyncio.to_thread(dictionaries.edit, dictionary_id, name, body.archived)
        return DictionaryShape.describe(changed, caller)

    @router.delete("/{dictionary_id}")
    async def remove_dictionary(dictionary_id: str, request: Request) -> Done:
        """Removes a dictionary with all of its versions permanently. Requests that name it are spoken without it."""
        dictionaries.find_changeable(dictionary_id, get_principal(request))
        await asyncio.to_thread(dictionaries.remove, dictionary_id)
        return Done()

    @router.get(
        "/{dictionary_id}/{version_id}/download",
        response_class=Response,
        responses={200: {"content": {_CONTENT_TYPE: {}}, "description": "The lexicon."}},
    )
    def download_version(dictionary_id: str, version_id: str, request: Request) -> Response:
        """The rules of a version as a lexicon, PLS 1.0."""
        dictionaries.find(dictionary_id, get_principal(request))
        version = dictionaries.read_version(dictionary_id, version_id)
        content = write_lexicon(Lexicon(list(version.rules), version.language))
        disposition = f'attachment; filename="{version_id}.pls"'
        return Response(content, media_type=_CONTENT_TYPE, headers={"content-disposition": disposition})

    return router


def _require_name(upload: Upload) -> str:
    name = upload.name()
    if name is None:
        raise invalid_field("name", "a name is required")
    return name

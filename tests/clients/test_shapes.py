"""The fields that clients index without asking, each of the JSON type that they expect."""

import re
from collections.abc import Mapping
from typing import Any

import httpx

from tests.clients.conftest import VOICE

VOICE_TYPES = {
    "voice_id": str,
    "name": str,
    "category": str,
    "labels": dict,
    "description": str,
    "preview_url": str,
    "settings": dict,
    "samples": list,
    "high_quality_base_model_ids": list,
    "verified_languages": list,
    "is_owner": bool,
    "is_legacy": bool,
    "is_mixed": bool,
}
SETTINGS_TYPES = {
    "stability": float,
    "similarity_boost": float,
    "style": float,
    "use_speaker_boost": bool,
    "speed": float,
}
MODEL_TYPES = {
    "model_id": str,
    "name": str,
    "description": str,
    "languages": list,
    "model_rates": dict,
    "token_cost_factor": float,
    "concurrency_group": str,
    **dict.fromkeys(
        [
            "can_be_finetuned",
            "can_do_text_to_speech",
            "can_do_voice_conversion",
            "can_use_style",
            "can_use_speaker_boost",
            "serves_pro_voices",
            "requires_alpha_access",
        ],
        bool,
    ),
    **dict.fromkeys(
        [
            "max_characters_request_free_user",
            "max_characters_request_subscribed_user",
            "maximum_text_length_per_request",
        ],
        int,
    ),
}
SUBSCRIPTION_TYPES = {
    "tier": str,
    "status": str,
    "current_overage": dict,
    **dict.fromkeys(
        [
            "character_count",
            "character_limit",
            "voice_slots_used",
            "professional_voice_slots_used",
            "professional_voice_slots_used_in_workspace",
            "voice_limit",
            "voice_add_edit_counter",
            "professional_voice_limit",
            "next_character_count_reset_unix",
        ],
        int,
    ),
    **dict.fromkeys(
        [
            "can_extend_character_limit",
            "allowed_to_extend_character_limit",
            "can_extend_voice_limit",
            "can_use_instant_voice_cloning",
            "can_use_professional_voice_cloning",
        ],
        bool,
    ),
}
USER_TYPES = {
    "user_id": str,
    "workspace_id": str,
    "subscription": dict,
    "created_at": int,
    "seat_type": str,
    "first_name": str,
    **dict.fromkeys(
        [
            "is_new_user",
            "can_use_delayed_payment_methods",
            "is_onboarding_completed",
            "is_onboarding_checklist_completed",
        ],
        bool,
    ),
}


def _fits(value: dict[str, Any], types: Mapping[str, type]) -> None:
    assert {name: type(value.get(name)) for name in types} == types


def test_voice_shape(http: httpx.Client) -> None:
    voices = http.get("/v1/voices").json()["voices"]
    page = http.get("/v2/voices?page_size=100").json()
    assert page["voices"] == voices
    assert (page["has_more"], page["total_count"], page["next_page_token"]) == (False, len(voices), None)
    for voice in voices:
        _fits(voice, VOICE_TYPES)
        _fits(voice["settings"], SETTINGS_TYPES)
        assert re.fullmatch(r"[A-Za-z0-9]{20}", voice["voice_id"]), "older clients take anything else for a name"
        assert {type(value) for value in voice["labels"].values()} == {str}
        assert all(each["language"] and each["model_id"] for each in voice["verified_languages"])
        assert voice["voice_verification"] is None
        assert voice["fine_tuning"] is None
        assert voice["sharing"] is None
    names = [voice["name"] for voice in voices]
    assert len(set(names)) == len(names), "older clients look voices up by name"
    assert http.get(f"/v1/voices/{VOICE}").json() in voices


def test_other_shapes(http: httpx.Client) -> None:
    _fits(http.get("/v1/voices/settings/default").json(), SETTINGS_TYPES)
    for model in http.get("/v1/models").json():
        _fits(model, MODEL_TYPES)
        assert type(model["model_rates"]["character_cost_multiplier"]) is float
        assert all(each["language_id"] and each["name"] for each in model["languages"])
    user, subscription = http.get("/v1/user").json(), http.get("/v1/user/subscription").json()
    _fits(user, USER_TYPES)
    for each in (user["subscription"], subscription):
        _fits(each, SUBSCRIPTION_TYPES)
        _fits(each["current_overage"], {"amount": str, "currency": str})
        assert type(each["max_credit_limit_extension"]) is int or each["max_credit_limit_extension"] == "unlimited"
    _fits(subscription, {"open_invoices": list, "has_open_invoices": bool})
    assert (
        http.get("/v1/history").json().items()
        >= {
            "history": [],
            "has_more": False,
            "last_history_item_id": None,
        }.items()
    )

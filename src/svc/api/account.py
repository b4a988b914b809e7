"""Stubs of accounts and history, so that the start-up code of migrating clients works. Nothing is metered."""

import secrets
import string
from typing import Any

from fastapi import APIRouter

from svc.errors import HistoryItemNotFound

# Far away, and still a number that every client's clock can hold: 2100-01-01.
_NEVER = 4_102_444_800
_UNLIMITED = 2_147_483_647
_OTHER_METHODS = ["POST", "PUT", "PATCH"]  # what does not exist is 404 by any method, not 405

_SUBSCRIPTION: dict[str, Any] = {
    "tier": "self_hosted",
    "character_count": 0,
    "character_limit": _UNLIMITED,
    "max_character_limit_extension": None,
    "max_credit_limit_extension": "unlimited",
    "can_extend_character_limit": False,
    "allowed_to_extend_character_limit": False,
    "next_character_count_reset_unix": _NEVER,
    "voice_slots_used": 0,
    "professional_voice_slots_used": 0,
    "professional_voice_slots_used_in_workspace": 0,
    "voice_limit": _UNLIMITED,
    "max_voice_add_edits": None,
    "voice_add_edit_counter": 0,
    "professional_voice_limit": 0,
    "can_extend_voice_limit": False,
    "can_use_instant_voice_cloning": True,
    "can_use_professional_voice_cloning": False,
    "current_overage": {"amount": "0", "currency": "usd"},
    "currency": "usd",
    "status": "active",
    "billing_period": "monthly_period",
    "character_refresh_period": "monthly_period",
}
_USER: dict[str, Any] = {
    "user_id": "svc",
    "workspace_id": "svc",
    "subscription": _SUBSCRIPTION,
    "is_new_user": False,
    "can_use_delayed_payment_methods": False,
    "is_onboarding_completed": True,
    "is_onboarding_checklist_completed": True,
    "created_at": 0,
    "seat_type": "workspace_admin",
    "first_name": "svc",
    "xi_api_key": None,
}


def new_history_item_id() -> str:
    """An id for the header `history-item-id`, which clients note. Nothing is kept under it."""
    return "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(20))


def router() -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["account"])

    @router.get("/user")
    async def user() -> dict[str, Any]:
        """A stub: this server has no accounts."""
        return _USER

    @router.get("/user/subscription")
    async def subscription() -> dict[str, Any]:
        """A stub: nothing is metered or billed."""
        return {**_SUBSCRIPTION, "open_invoices": [], "has_open_invoices": False, "next_invoice": None}

    @router.get("/user/usage")
    async def usage() -> dict[str, Any]:
        """A stub: nothing is counted."""
        return {"time": [], "usage": {"All": []}}

    @router.get("/user{rest:path}", include_in_schema=False)
    async def rest_of_user(rest: str) -> dict[str, Any]:
        """All others, such as `/v1/user/preferences`: the user, of whom they would be a part."""
        return _USER

    @router.get("/history")
    async def history() -> dict[str, Any]:
        """Always empty: this server keeps no history."""
        return {"history": [], "has_more": False, "last_history_item_id": None, "scanned_until": None}

    @router.get("/history/{item_id}")
    @router.get("/history/{item_id}/audio")
    @router.delete("/history/{item_id}")
    @router.api_route("/history/{item_id}", methods=_OTHER_METHODS, include_in_schema=False)
    async def history_item(item_id: str) -> None:
        """Always 404: the ids of the header `history-item-id` name nothing that is kept."""
        raise HistoryItemNotFound(item_id)

    return router

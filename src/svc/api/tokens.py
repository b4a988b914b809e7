"""`POST /v1/tokens/ephemeral` and `POST /v1/single-use-token/{token_type}`: tokens for browsers."""

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, BeforeValidator, Field

from svc.api.authentication import get_principal
from svc.api.middleware.bodies import JsonRoute
from svc.auth.keys import Scope
from svc.auth.tokens import Tokens
from svc.errors import UnknownTokenType

_SHORTEST, _DEFAULT, _LONGEST = 30, 300, 600


def _refuse_flag(value: object) -> object:
    """Python takes `true` for 1."""
    if isinstance(value, bool):
        raise ValueError("must be a number")
    return value


class EphemeralTokenBody(BaseModel):
    ttl_seconds: Annotated[int | None, BeforeValidator(_refuse_flag)] = Field(
        None, description=f"How long the token is valid: {_SHORTEST} to {_LONGEST} seconds, by default {_DEFAULT}."
    )

    def clamp_seconds(self) -> int:
        if self.ttl_seconds is None:
            return _DEFAULT
        return min(max(self.ttl_seconds, _SHORTEST), _LONGEST)


class EphemeralToken(BaseModel):
    token: str
    expires_at: int = Field(description="Unix time, in seconds.")
    scope: str = Field(description="What the token allows: `tts`.")


class SingleUseToken(BaseModel):
    token: str


def router(tokens: Tokens) -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["tokens"], route_class=JsonRoute)

    @router.post("/tokens/ephemeral")
    async def create_ephemeral_token(
        request: Request, response: Response, body: EphemeralTokenBody | None = None
    ) -> EphemeralToken:
        """Creates a token for a browser, which may synthesize speech and list voices. Needs a full API key."""
        seconds = (body or EphemeralTokenBody()).clamp_seconds()
        token, expires_at = await tokens.mint_ephemeral(get_principal(request), seconds)
        response.headers["cache-control"] = "no-store"
        return EphemeralToken(token=token, expires_at=expires_at, scope=Scope.TTS)

    @router.post("/single-use-token/{token_type}")
    async def create_single_use_token(request: Request, response: Response, token_type: str) -> SingleUseToken:
        """Creates a token that opens one realtime socket within 15 minutes. Needs a full API key."""
        if token_type != Scope.TTS_WEBSOCKET:
            raise UnknownTokenType([Scope.TTS_WEBSOCKET])
        token = await tokens.mint_single_use(get_principal(request))
        response.headers["cache-control"] = "no-store"
        return SingleUseToken(token=token)

    return router

"""Bringing a voice to the pitch and the colour of the person that it is to be like.

What the encoder gives is a semitone or two off, and more for some people, and darker or brighter than they are: how a
voice speaks depends on all of its parameters together. Hearing it once tells by how much.
"""

from dataclasses import replace

import numpy as np

from svc.cloning import colour
from svc.cloning.ear import Heard
from svc.cloning.parameters import PITCH_SCALES, VoiceParameters

_FURTHEST = 1.5  # beyond that an octave was misheard


def in_tune(person: Heard, voice: Heard) -> VoiceParameters:
    """The parameters for a person, given how a voice with them was heard to speak."""
    factor = np.clip(person.pitch / voice.pitch, 1 / _FURTHEST, _FURTHEST)
    known = person.parameters
    return replace(
        known,
        pitch_scale=float(np.clip(known.pitch_scale * factor, *PITCH_SCALES)),
        colour=colour.change(person.colour, voice.colour),
    )

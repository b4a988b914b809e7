"""The type that all audio has before it is encoded."""

import numpy as np
import numpy.typing as npt

Samples = npt.NDArray[np.float32]
"""Mono audio; full scale is ±1."""

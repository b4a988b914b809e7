"""A self-hosted text-to-speech service."""

import os
from importlib.metadata import version

# ONNX Runtime's wheels report to their maker, unless this is set before they are loaded. Nothing leaves this machine.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

__version__ = version("svc")

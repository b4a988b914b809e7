"""How many replicas the engine needs: by the utterances that are being spoken or wait, and by deadlines missed."""

import math
from typing import Any

from ray.serve.config import AutoscalingContext

from svc.serving.cluster.engine_replica import ONGOING, STARVED

# More of it at any replica is a reason for another one, however short the queues are.
_MAX_STARVED = 0.01


def choose_replicas(context: AutoscalingContext) -> tuple[int, dict[str, Any]]:
    """Called by Ray Serve's controller, which applies the limits and the delays of the configuration."""
    # Ray counts calls of its own, and utterances are none.
    ongoing = sum(context.aggregated_metrics.get(ONGOING, {}).values())
    wanted = math.ceil(ongoing / context.config.get_target_ongoing_requests())
    if any(share > _MAX_STARVED for share in context.aggregated_metrics.get(STARVED, {}).values()):
        wanted = max(wanted, context.current_num_replicas + 1)
    return wanted, {}

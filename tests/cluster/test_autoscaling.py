"""How many replicas of the engine Ray is asked for."""

from types import SimpleNamespace

import pytest

from svc.serving.cluster.autoscaling import choose_replicas
from svc.serving.cluster.engine_replica import ONGOING, STARVED


@pytest.mark.parametrize(
    ("requests", "starved", "wanted"), [(0, 0.0, 0), (3, 0.0, 1), (10, 0.0, 4), (1, 0.005, 1), (1, 0.2, 3)]
)
def test_replicas_follow_the_queue_and_missed_deadlines(requests: float, starved: float, wanted: int) -> None:
    context = SimpleNamespace(
        aggregated_metrics={STARVED: {"a": 0.0, "b": starved}, ONGOING: {"a": requests / 2, "b": requests / 2}},
        current_num_replicas=2,
        config=SimpleNamespace(get_target_ongoing_requests=lambda: 3.0),
    )
    assert choose_replicas(context) == (wanted, {})

"""What does a number of machines hold? A simulation of their queues, which tests hold to a measured machine.

Texts come at random moments (Poisson). A balancer gives each to the machine with the fewest connections. There it waits
for admission, and is spoken step by step, those first whose audio is due first, as `svc.admission` and `svc.synthesis`
do it. Time is simulated; the real machine is in the figures of `Machine` alone.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from random import Random

from svc.admission import capacity
from svc.admission.capacity import Demand
from svc.synthesis.playback import FIRST_AUDIO_SECONDS

STARVED_OVER = 0.05  # seconds

# Of the engine's work on a sentence of four seconds, what its first window takes beyond its share: the prosody of the
# sentence (0.12), and what the networks look ahead.
_FRONT_SHARE = 0.17
_SENTENCE_SECONDS = 4.0
_WINDOWS = (0.3, 0.6, 1.0, 1.7)  # seconds of the audio of the first steps of a sentence; the last one repeats
_POLL_SECONDS = 0.05
_NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class Machine:
    """What was measured of a machine, and its settings."""

    name: str
    workers: int
    speech_a_second: float
    """Of all workers together."""
    request_seconds: float = 0.02
    """Seconds of a request outside the engine: HTTP, and text to phonemes."""
    max_load: float = 0.5
    max_streams: int = 32
    max_waiting: int = 64
    queue_seconds: float = 2.0

    @property
    def real_time_factor(self) -> float:
        """Of one worker."""
        return self.workers / self.speech_a_second


@dataclass(frozen=True, slots=True)
class Text:
    seconds: float
    """Of its audio."""
    live: bool = True
    """Whether it is played while it comes."""


@dataclass(slots=True)
class Outcome:
    """What became of a text."""

    text: Text
    came_at: float
    refused: bool = False
    first_byte: float = _NEVER
    """Seconds after it came."""
    starved: float = 0.0


def simulate(
    machines: Sequence[Machine], texts: Sequence[Text], rate: float, seconds: float, seed: int = 1
) -> list[Outcome]:
    """`rate` texts a second of those given, for so long; all that were admitted are finished."""
    rng, clock = Random(seed), _Clock()
    servers = [_Server(machine, clock) for machine in machines]
    outcomes: list[Outcome] = []

    def come() -> None:
        server = min(servers, key=lambda each: (each.connections, rng.random()))
        outcomes.append(server.take(rng.choice(texts)))
        if (pause := rng.expovariate(rate)) < seconds - clock.now:
            clock.after(pause, come)

    clock.after(0.0, come)
    clock.run()
    return outcomes


class _Clock:
    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now + seconds, next(self._order), act))

    def run(self) -> None:
        while self._events:
            self.now, _, act = heapq.heappop(self._events)
            act()


@dataclass(slots=True, eq=False)
class _Job:
    """A text that is being spoken."""

    outcome: Outcome
    steps: Iterator[tuple[float, float]]
    left: float
    first_due: float
    heard_at: float | None = None
    held_back: float = 0.0
    busy: bool = False

    @property
    def deadline(self) -> float:
        return self.first_due if self.heard_at is None else self.heard_at


@dataclass(slots=True)
class _Server:
    machine: Machine
    clock: _Clock
    _jobs: list[_Job] = field(default_factory=list)
    _waiting: list[_Job] = field(default_factory=list)
    _free: int = 0
    _longest_step: float = 0.0
    _polling: bool = False

    def __post_init__(self) -> None:
        self._free = self.machine.workers

    @property
    def connections(self) -> int:
        return len(self._jobs) + len(self._waiting)

    def take(self, text: Text) -> Outcome:
        outcome = Outcome(text, self.clock.now)
        steps = split(text.seconds, self.machine.real_time_factor)
        job = _Job(outcome, steps, text.seconds, self.clock.now + FIRST_AUDIO_SECONDS)
        self.clock.after(self.machine.request_seconds, lambda: self._arrive(job))
        return outcome

    def _arrive(self, job: _Job) -> None:
        self._waiting.append(job)
        self._admit()
        if job in self._waiting and len(self._waiting) > self.machine.max_waiting:
            self._refuse(job)
        elif job in self._waiting:
            self.clock.after(self.machine.queue_seconds, lambda: self._refuse(job))
            self._poll()

    def _refuse(self, job: _Job) -> None:
        if job in self._waiting:
            self._waiting.remove(job)
            job.outcome.refused = True

    def _poll(self) -> None:
        """Room also comes with time."""
        if self._waiting and not self._polling:
            self._polling = True
            self.clock.after(_POLL_SECONDS, self._admit_later)

    def _admit_later(self) -> None:
        self._polling = False
        self._admit()
        self._poll()

    def _admit(self) -> None:
        while self._waiting and self._has_room(self._waiting[0]):
            self._jobs.append(self._waiting.pop(0))
        self._work()

    def _has_room(self, job: _Job) -> bool:
        if not self._jobs:
            return True
        demands = [self._demand(each) for each in (*self._jobs, job)]
        factor, workers = self.machine.real_time_factor, self.machine.workers
        return len(demands) <= self.machine.max_streams and (
            capacity.load(demands, factor, workers) <= self.machine.max_load
        )

    def _demand(self, job: _Job) -> Demand:
        start = self.machine.real_time_factor * _SENTENCE_SECONDS * _FRONT_SHARE if job.heard_at is None else 0.0
        return Demand(max(0.0, job.deadline - self.clock.now), max(job.left, 1.0), start)

    def _work(self) -> None:
        while self._free and (ready := [job for job in self._jobs if not job.busy]):
            self._begin(min(ready, key=lambda job: job.deadline))

    def _begin(self, job: _Job) -> None:
        work, audio = next(job.steps)
        asked_at = self.clock.now
        job.busy = True
        self._free -= 1
        self._longest_step = max(work, self._longest_step)
        self.clock.after(work, lambda: self._end(job, audio, asked_at))

    def _end(self, job: _Job, audio: float, asked_at: float) -> None:
        job.busy = False
        self._free += 1
        job.left -= audio
        job.held_back += audio
        ended = job.left < 1e-6
        if ended or self._may_play(job):
            self._play(job, asked_at)
        if ended:
            self._jobs.remove(job)
        self._admit()

    def _may_play(self, job: _Job) -> bool:
        alone = len(self._jobs) <= self.machine.workers
        return alone or job.heard_at is not None or not job.outcome.text.live or (
            job.held_back >= 2 * self._longest_step
        )  # fmt: skip

    def _play(self, job: _Job, asked_at: float) -> None:
        now = self.clock.now
        if job.heard_at is None:
            job.heard_at = now
            job.outcome.first_byte = now - job.outcome.came_at
        job.outcome.starved += max(0.0, now - max(job.heard_at, asked_at)) if job.outcome.text.live else 0.0
        job.heard_at = max(job.heard_at, now) + job.held_back
        job.held_back = 0.0


def split(seconds: float, real_time_factor: float) -> Iterator[tuple[float, float]]:
    """The steps of a text: for each its seconds of work and of audio."""
    sentences = max(1, round(seconds / _SENTENCE_SECONDS))
    sentence = seconds / sentences
    for _ in range(sentences):
        work = _FRONT_SHARE * sentence * real_time_factor
        left = sentence
        for window in (*_WINDOWS, *[_WINDOWS[-1]] * int(sentence)):
            audio = left if left < 1.5 * window else window
            yield work + (1 - _FRONT_SHARE) * audio * real_time_factor, audio
            work, left = 0.0, left - audio
            if left < 1e-6:
                break

"""What a controller asks of an agent, and what the agent answers."""

from __future__ import annotations

import msgspec

from aferir import errors
from aferir.environments.base import Phases
from aferir.errors import AferirError, ProgramError
from aferir.model.finding import Finding
from aferir.model.plan import HostLimits


class Request(msgspec.Struct, frozen=True, tag=True):
    """Anything that is asked."""


class Describe(Request, frozen=True, tag=True):
    """Say what the host is; answered by `Host`."""


class Check(Request, frozen=True, tag=True):
    """Say what the host lacks for a kind of environment; answered by a list of findings."""

    kind: str


class Prepare(Request, frozen=True, tag=True):
    """Build or find the image of a kind; answered by its hash."""

    kind: str
    packages: tuple[str, ...]


class Allocate(Request, frozen=True, tag=True):
    """Make an instance; answered by `Allocated`."""

    kind: str
    spec: bytes
    """JSON of the kind's own struct."""


class Offer(Request, frozen=True, tag=True):
    """Say whether a file of that SHA-256 has come over this line; answered by true or false."""

    digest: str


class Upload(Request, frozen=True, tag=True):
    """A piece of a file, in order; the last one is empty."""

    digest: str
    mode: int
    content: bytes


class Put(Request, frozen=True, tag=True):
    """Copy an uploaded file into an instance."""

    instance: int
    digest: str
    destination: str


class Get(Request, frozen=True, tag=True):
    """Fetch a file of an instance; answered by its bytes, `frames.LONGEST` at most."""

    instance: int
    source: str


class Run(Request, frozen=True, tag=True):
    """Run a program in an instance; answered by `Completed`."""

    instance: int
    command: tuple[str, ...]
    timeout_s: float | None
    environment: dict[str, str]
    check: bool


class Measure(Request, frozen=True, tag=True):
    """Run a program between two looks of the probes; answered by `Measured`."""

    instance: int
    command: tuple[str, ...]
    timeout_s: float
    environment: dict[str, str]
    load_period_s: float | None
    accounted: bool


class Pause(Request, frozen=True, tag=True):
    """Keep an instance from using any CPU."""

    instance: int


class Resume(Request, frozen=True, tag=True):
    """Undo `Pause`."""

    instance: int


class Release(Request, frozen=True, tag=True):
    """Give an instance back; answered by the seconds that it took."""

    instance: int


class Clean(Request, frozen=True, tag=True):
    """Undo what ended agents have left; answered by what could not be undone, in words."""


class Alive(Request, frozen=True, tag=True):
    """The controller is there still; answered at once, whatever else is being carried out."""

    sent_ns: int
    """When it was sent, of the controller's monotonic clock."""


AnyRequest = (
    Describe | Check | Prepare | Allocate | Offer | Upload | Put | Get | Run | Measure | Pause
    | Resume | Release | Clean | Alive
)  # fmt: skip


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """A host as its agent finds it."""

    limits: HostLimits
    facts: dict[str, object]
    """JSON of `machine.describe`."""
    findings: tuple[Finding, ...]
    """Findings of the doctor there."""


class Allocated(msgspec.Struct, frozen=True, kw_only=True):
    """An instance as it was made."""

    instance: int
    phases: Phases
    emulated: bool
    own_kernel: bool


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one request: its value, or why there is none."""

    value: msgspec.Raw = msgspec.Raw(b"\xc0")
    """The value in MessagePack; nil where there is nothing to say."""
    error: str = ""
    """Name of a class of `aferir.errors`."""
    message: str = ""
    remedy: str = ""
    echo: int = 0
    """Number of the `Alive` that it answers; 0 where it answers a request."""
    unix_ns: int = 0
    """The agent's clock, in the answer to `Alive`."""


def failure(error: AferirError) -> Answer:
    """Put an error into words that `raised` understands."""
    return Answer(error=type(error).__name__, message=error.message, remedy=error.remedy)


def raised(answer: Answer, host: str) -> AferirError:
    """Make the error of an answer again, with the host in front."""
    known = getattr(errors, answer.error, ProgramError)
    kind = known if isinstance(known, type) and issubclass(known, AferirError) else ProgramError
    return kind(f"{host}: {answer.message}", remedy=answer.remedy)

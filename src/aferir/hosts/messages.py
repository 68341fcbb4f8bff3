"""Requests of a controller to an agent, and the agent's answers."""

from __future__ import annotations

import msgspec

from aferir import errors
from aferir.environments.base import Phases
from aferir.errors import AferirError, ProgramError
from aferir.model.finding import Finding
from aferir.model.plan import HostLimits
from aferir.model.record import Sample, Series, Warning

AGENT = "aferir-agent"
"""Mark of the line in which an agent reports that it is ready, or why it is not."""
READY = "ready"
REMEDY = " remedy: "
"""Separator of the reason and the remedy in the line that `AGENT` marks."""


class Request(msgspec.Struct, frozen=True, tag=True):
    """Base class of all requests to an agent."""


class Describe(Request, frozen=True, tag=True):
    """Describe the host; answered by `Host`."""


class Identify(Request, frozen=True, tag=True):
    """Report the host's name and addresses; answered by `Identity`."""


class Check(Request, frozen=True, tag=True):
    """Report what the host lacks for a kind of environment; answered by a list of findings."""

    kind: str


class Prepare(Request, frozen=True, tag=True):
    """Build or find the image of a kind; answered by its hash."""

    kind: str
    packages: tuple[str, ...]


class Allocate(Request, frozen=True, tag=True):
    """Make an instance; answered by `Allocated`."""

    kind: str
    spec: bytes
    """Specification as JSON of the kind's own struct."""


class Offer(Request, frozen=True, tag=True):
    """Ask whether a file with this SHA-256 was sent already; answered by true or false."""

    digest: str


class Upload(Request, frozen=True, tag=True):
    """A piece of a file, in order; an empty one ends the file."""

    digest: str
    mode: int
    content: bytes


class Put(Request, frozen=True, tag=True):
    """Copy an uploaded file into an instance."""

    instance: int
    digest: str
    destination: str


class Get(Request, frozen=True, tag=True):
    """Read a file of an instance; answered by its bytes, at most `frames.LONGEST`."""

    instance: int
    source: str


class Run(Request, frozen=True, tag=True):
    """Run a program in an instance; answered by `Completed`."""

    instance: int
    command: tuple[str, ...]
    timeout_s: float | None
    environment: dict[str, str]
    check: bool


class Start(Request, frozen=True, tag=True):
    """Start a program in an instance and leave it running."""

    instance: int
    command: tuple[str, ...]


class Stop(Request, frozen=True, tag=True):
    """End all programs that were started in an instance."""

    instance: int


class Measure(Request, frozen=True, tag=True):
    """Run a program between two snapshots of the probes; answered by `Measured`."""

    instance: int
    command: tuple[str, ...]
    timeout_s: float
    environment: dict[str, str]
    load_period_s: float | None
    accounted: bool
    power: str
    """Source of the host's power; empty: none is read."""


class BeginMetering(Request, frozen=True, tag=True):
    """Begin to read the host's power while a program runs on another host."""

    power: str
    """Source of the host's power; see `Measure.power`."""


class EndMetering(Request, frozen=True, tag=True):
    """Stop reading the power; answered by `Metered`."""


class Pause(Request, frozen=True, tag=True):
    """Stop an instance from using any CPU."""

    instance: int


class Resume(Request, frozen=True, tag=True):
    """Undo `Pause`."""

    instance: int


class Release(Request, frozen=True, tag=True):
    """Release an instance; answered by the duration in s."""

    instance: int


class Clean(Request, frozen=True, tag=True):
    """Clean up after dead agents; answered by messages about what could not be removed."""


class Alive(Request, frozen=True, tag=True):
    """Keep-alive message of the controller; answered at once, even during another request."""

    sent_ns: int
    """Time of sending by the controller's `steady.unix_ns`."""


AnyRequest = (
    Describe | Identify | Check | Prepare | Allocate | Offer | Upload | Put | Get | Run | Start
    | Stop | Measure | BeginMetering | EndMetering | Pause | Resume | Release | Clean | Alive
)  # fmt: skip


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """Description of a host by its agent."""

    limits: HostLimits
    facts: dict[str, object]
    """Facts about the host from `machine.describe`, for JSON."""
    findings: tuple[Finding, ...]
    """Findings of `aferir doctor` on the host."""


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Name of a host as its kernel reports it, and the host's addresses."""

    name: str
    networks: tuple[str, ...]
    """Addresses of its interfaces with their prefix lengths, `10.0.0.2/24`; loopback is left out.
    """


class Allocated(msgspec.Struct, frozen=True, kw_only=True):
    """Description of an instance that was made."""

    instance: int
    phases: Phases
    emulated: bool
    own_kernel: bool


class Metered(msgspec.Struct, frozen=True, kw_only=True):
    """Power of a host: see `measuring.energy.Found`."""

    samples: tuple[Sample, ...] = ()
    warnings: tuple[Warning, ...] = ()
    series: tuple[Series, ...] = ()


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Answer to one request: a value or an error."""

    value: msgspec.Raw = msgspec.Raw(b"\xc0")
    """Value in MessagePack; nil if there is none."""
    error: str = ""
    """Name of the error's class in `aferir.errors`; empty without an error."""
    message: str = ""
    remedy: str = ""
    echo: int = 0
    """`sent_ns` of the `Alive` message that this answers; 0 in an answer to a request."""
    unix_ns: int = 0
    """The agent's `steady.unix_ns` at the time of its answer to `Alive`."""
    ended: bool = False
    """True in the last message: everything has been released, and the agent ends."""


def failure(error: AferirError) -> Answer:
    """Encode an error so that `raised` can restore it."""
    return Answer(error=type(error).__name__, message=error.message, remedy=error.remedy)


def raised(answer: Answer, host: str) -> AferirError:
    """Restore the error of an answer, with the host's name added."""
    known = getattr(errors, answer.error, ProgramError)
    kind = known if isinstance(known, type) and issubclass(known, AferirError) else ProgramError
    return kind(f"{host}: {answer.message}", remedy=answer.remedy)

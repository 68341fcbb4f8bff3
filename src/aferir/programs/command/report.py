"""The launcher's report of one repetition, and its samples, failures and warnings."""

from __future__ import annotations

import base64
import binascii
import errno
import re
from collections.abc import Iterator, Mapping

import msgspec

from aferir.errors import AferirError, MissingError, ProgramError, UnverifiedError
from aferir.linux.process import signal_name
from aferir.model.record import Sample, Warning
from aferir.programs.base import ASIDE
from aferir.programs.command.figures import FigureSpec, read_figures
from aferir.programs.command.format import explain_file

PROGRAM = "command"
DURATION = "duration_s"
_USAGE = {
    "user_s": "s",
    "system_s": "s",
    "queued_s": "s",
    "peak_bytes": "B",
    "read_bytes": "B",
    "written_bytes": "B",
    "minor_faults": "1",
    "major_faults": "1",
    "voluntary_switches": "1",
    "involuntary_switches": "1",
    "service_user_s": "s",
    "service_system_s": "s",
    "service_peak_bytes": "B",
    ASIDE: "s",
}
_LIBRARY = re.compile(r"error while loading shared libraries: (\S+): cannot open")
_LEFT = Warning(
    "left-running",
    "the program ended and left processes running, which were ended: what they did later is in no "
    "figure",
    "let the command wait for them, or run them as its `service`",
)
_UNCHECKED = Warning(
    "not-verified",
    "the program's results were not verified: only its exit code was checked",
    "verify them with `expect`, `expect_sha256` or `verify`",
)
_CUT = Warning(
    "output-cut",
    "the program printed more than is kept: figures and `verify` see the last 256 KiB alone",
    "let it print less, or write its figures into a file",
)

DOUBTS = (_LEFT.code, _UNCHECKED.code, _CUT.code)
"""Codes of the warnings that this program may issue."""


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """Expected results of the command; the launcher passes them through to its report."""

    figures: tuple[FigureSpec, ...] = ()
    exit_codes: tuple[int, ...] = (0,)
    output: str | None = None
    sha256: str = ""
    program: str = ""
    """Name of the program as the user wrote it."""
    verified: bool = False
    """Whether a command of the user verified the result."""
    owners: dict[str, str] = {}
    """Debian package of the program (key ""), of its interpreter (key "#!"), and of each library
    (key: its name)."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """One line of JSON from the launcher (`native/launch`); texts are in base64."""

    program: str
    stage: str = ""
    """Stage that failed: unpack, prepare, service, execute, verify, conclude."""
    said: str = ""
    errno: int = 0
    path: str = ""
    header: str = ""
    duration_s: float | None = None
    exit_code: int | None = None
    """Exit code; -N: ended by signal N."""
    out: str = ""
    out_bytes: int = 0
    out_sha256: str = ""
    err: str = ""
    left: int = 0
    reports: dict[str, str | None] = {}
    echo: Expected | None = None


def read(stdout: str) -> tuple[Sample | Warning, ...]:
    """Figures of a successful repetition. Errors: ProgramError, UnverifiedError."""
    line = stdout.strip().rpartition("\n")[2].encode()
    try:
        report = msgspec.json.decode(line, type=Report)
        usage = msgspec.json.decode(line, type=dict[str, object])
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise ProgramError(
            f"the launcher of the program did not live to report ({error})",
            remedy="see whether the program kills others than its own processes",
        ) from None
    expected = report.echo or Expected()
    _went_well(report, expected)
    verified = _verified(report, expected)
    texts = {"": _text(report.out)} | {
        name: None if said is None else _text(said) for name, said in report.reports.items()
    }
    own = read_figures(expected.figures, texts)
    samples = [*_usage(usage), *own]
    if all(sample.metric != DURATION for sample in own):
        samples.insert(0, Sample(DURATION, report.duration_s or 0.0, "s"))
    cpu_s = sum(sample.value for sample in samples if sample.metric in ("user_s", "system_s"))
    samples.append(Sample("cpu_s", cpu_s, "s"))
    kept = len(base64.b64decode(report.out))
    doubts = (
        *((_LEFT,) if report.left else ()),
        *(() if verified else (_UNCHECKED,)),
        *((_CUT,) if kept < report.out_bytes and _needs_all(expected) else ()),
    )
    return (*samples, *doubts)


def _needs_all(expected: Expected) -> bool:
    return expected.verified or any(not figure.file for figure in expected.figures)


def _usage(told: Mapping[str, object]) -> Iterator[Sample]:
    for name, unit in _USAGE.items():
        value = told.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield Sample(name, float(value), unit)


def _went_well(report: Report, expected: Expected) -> None:
    if report.stage == "execute":
        raise _not_executed(report, expected)
    if report.stage in ("input", "output"):
        raise ProgramError(
            f"`{report.stage}` cannot be opened: {_said(report.said)}",
            remedy="take it along with `files`, or let `prepare` make it, or its folder",
        )
    if report.stage and report.stage not in ("verify", "conclude"):
        raise ProgramError(
            f"`{report.stage}` failed before the program ran: {_said(report.said)}",
            remedy="run it by hand in a copy of the working folder",
        )
    code = report.exit_code
    if report.duration_s is None or code is None:
        raise ProgramError("the launcher did not say how the program ended")
    if code not in expected.exit_codes:
        raise _ended_badly(report, expected, code)
    if report.stage == "verify":
        raise UnverifiedError(
            f"`verify` found the result wrong: {_said(report.said)}",
            remedy="see what the command says by hand; no figure is taken from a wrong result",
        )
    if report.stage:
        raise ProgramError(f"`conclude` failed: {_said(report.said)}", remedy="run it by hand")


def _not_executed(report: Report, expected: Expected) -> AferirError:
    name = _text(report.path) or expected.program
    if report.errno == errno.EACCES:
        remedy = f"chmod +x {name}"
        return ProgramError(f"the program `{name}` may not be executed", remedy=remedy)
    header = base64.b64decode(report.header)
    if report.errno == errno.ENOEXEC and not header:
        return ProgramError(f"the program `{name}` is empty", remedy="see whether it was built")
    if wrong := explain_file(header):
        return ProgramError(
            f"the program `{name}` cannot run here: {wrong.message}", remedy=wrong.remedy
        )
    if report.errno == errno.ENOENT:
        package = expected.owners.get("")
        return MissingError(
            f"there is no program `{name}` in this environment",
            remedy=f'add it to the image: packages = ["{package}"]'
            if package
            else _other_than(name),
        )
    return ProgramError(f"the program `{name}` cannot be executed: {_text(report.said)}")


def _other_than(name: str) -> str:
    """Remedy for a program that does not exist."""
    if name.startswith("-"):
        return "options of aferir stand before --, and after it only the command"
    if re.search(r"[\s|&;<>$]", name):
        return "the command is started without a shell; `script` takes a line for one"
    if "/" in name:
        return "check its path, build it (`--build` of aferir gate), or take it along with `files`"
    return (
        "check its name, name the Debian package that has it (`packages`), or take its file along "
        "(`files`); what a shell alone understands goes into `script`"
    )


def _ended_badly(report: Report, expected: Expected, code: int) -> ProgramError:
    said = _said(report.err) or _said(report.out)
    how = f"was ended by {signal_name(-code)}" if code < 0 else f"exited with {code}"
    if found := _LIBRARY.search(_text(report.err)):
        library = found[1]
        package = expected.owners.get(library)
        return ProgramError(
            f"the library {library} is not in this environment",
            remedy=f'add it to the image: packages = ["{package}"]'
            if package
            else f"name the Debian package that has {library} as `packages`",
        )
    return ProgramError(
        f"the program {how}{f': {said}' if said else ''}",
        remedy="run it by hand; `files` takes along what it needs, and `exit_codes` names other "
        "codes of success",
    )


def _verified(report: Report, expected: Expected) -> bool:
    """Whether the result was verified. Errors: UnverifiedError if it is wrong."""
    if expected.sha256 and report.out_sha256 != expected.sha256:
        raise UnverifiedError(
            f"the SHA-256 of the output is {report.out_sha256}, not {expected.sha256}",
            remedy="see whether the output holds times or names that differ from run to run",
        )
    if expected.output is not None and _text(report.out).rstrip() != expected.output.rstrip():
        raise UnverifiedError(
            f"the output is not what was expected, but: {_said(report.out)}",
            remedy="see whether it differs from run to run; `verify` may look at a part of it",
        )
    return bool(expected.sha256 or expected.output is not None or expected.verified)


def _text(encoded: str) -> str:
    try:
        return base64.b64decode(encoded).decode("utf-8", "replace")
    except binascii.Error:
        return ""


def _said(encoded: str) -> str:
    """The last three lines of a text, joined."""
    lines = [line for line in _text(encoded).strip().splitlines() if line.strip()][-3:]
    text = " / ".join(lines)
    return "".join(c if c.isprintable() else "?" for c in text)[:300]

"""The one family of errors that a user may see; only `aferir.cli` turns it into an exit code."""

from __future__ import annotations


class AferirError(Exception):
    """An error that a user can act on.

    `message` says what is wrong and where, `remedy` what to do about it.
    """

    exit_code = 1

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class UsageError(AferirError):
    """The experiment file or the command line is wrong; nothing was started."""

    exit_code = 2


class MissingError(AferirError):
    """This machine lacks a program, a privilege or a device that was asked for."""

    exit_code = 3


class RefusedError(AferirError):
    """The operating system refused us a file, room on a disk, memory or a permission."""

    exit_code = 3


class ProgramError(AferirError):
    """A program that we ran failed, printed something unreadable, or did not verify."""

    exit_code = 4


class UnverifiedError(ProgramError):
    """A program ran to its end but found its own result wrong; its figures are not used."""


class TimeoutExpired(ProgramError):
    """A program was ended because it ran past its time limit."""


class ClockError(AferirError):
    """A clock could not be set, served or calibrated; `status` is that of librvec or librgap."""

    exit_code = 4

    def __init__(self, message: str, *, remedy: str = "", status: int = 0) -> None:
        super().__init__(message, remedy=remedy)
        self.status = status


class UndecidedError(AferirError):
    """A gate had too little time for a single pair of repetitions."""

    exit_code = 5


class InterruptedRunError(AferirError):
    """The user, or SIGTERM, ended a run; all resources were released, and it can be resumed."""

    exit_code = 130

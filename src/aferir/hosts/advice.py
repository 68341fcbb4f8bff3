"""Remedies for what ssh, sudo, and others say when a host cannot be used."""

from __future__ import annotations

import re

_RULE = (
    'let its account become root without a password: there, `echo "$USER ALL=(root) NOPASSWD: '
    'ALL" | sudo tee -a /etc/sudoers.d/zz-aferir`; or leave `sudo` out'
)
"""Remedy with a rule of sudo: the last one that matches counts (sudoers(5)), hence the name."""
_SAID = (
    (
        r"HOST IDENTIFICATION HAS CHANGED|Host key verification failed",
        "its key is unknown or has changed: see who it is, `ssh-keygen -R` it and connect once",
    ),
    (
        r"UNPROTECTED PRIVATE KEY FILE|[Bb]ad (owner or )?permissions",
        "make the key and ~/.ssh/config files of yours alone: chmod go= FILE",
    ),
    (
        r"[Pp]assword has expired|[Pp]assword change required|account has expired",
        "log in there once by hand, or ask its administrator",
    ),
    (
        r"Permission denied \(",
        "its user does not accept our key: ssh-copy-id, or name another user",
    ),
    (r"Could not resolve|Name or service not known", "its name is unknown: see ~/.ssh/config"),
    (
        r"Connection (refused|timed out)|No route|unreachable|Operation timed out",
        "is it up, and does sshd run there?",
    ),
    (
        r"(?i)sudo: (command )?not found|unknown command: sudo",
        "install sudo there, or leave `sudo` out",
    ),
    (
        r"sudo: .*must have a tty",
        'there, `echo "Defaults:$USER !requiretty" | sudo tee -a /etc/sudoers.d/zz-aferir`',
    ),
    (r"sudo: .*(no new privileges|setuid root|nosuid)", "leave `sudo` out, and log in as root"),
    (r"sudo: ", _RULE),
    (
        r'[Pp]lease login as the user "?([\w.-]+)',
        "its key is bound to a command for this user: name the user \\1 in `reach`",
    ),
    (
        r"account is (currently )?not available",
        "its account's shell lets nobody in: `chsh -s /bin/sh` there, or name another account",
    ),
    (r"not found|No such file|cannot open network namespace", "see the host's `reach`"),
)
"""Error messages as regular expressions, with remedies; the first that matches counts.

A remedy may have groups of its expression, as in `re.Match.expand`.
"""

_QUOTED = 200
"""Largest number of characters of a host's message that an error quotes."""


def remedy_for(said: str) -> str:
    """Remedy for the output of a command that reaches a host; empty if it is unknown."""
    found = ((re.search(words, said), to_do) for words, to_do in _SAID)
    return next((match.expand(to_do) for match, to_do in found if match), "")


def quoted(said: str) -> str:
    """Return a message of a host as one printable line, cut if it is long."""
    line = "".join(one if one.isprintable() else "?" for one in said.strip())
    return line if len(line) <= _QUOTED else f"{line[:_QUOTED]}..."

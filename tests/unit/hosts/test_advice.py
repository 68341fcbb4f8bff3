"""Remedies for error messages about a host that cannot be used."""

from __future__ import annotations

import pytest

from aferir.hosts.advice import remedy_for

SAID = {
    "WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!": "ssh-keygen -R",
    "WARNING: UNPROTECTED PRIVATE KEY FILE!\nroot@a: Permission denied (publickey).": "chmod",
    "Bad owner or permissions on /root/.ssh/config": "chmod",
    "root@a: Permission denied (publickey,password).": "ssh-copy-id",
    "WARNING: Your password has expired.": "log in there once",
    "Your account has expired; please contact your system administrator.": "log in there once",
    "ssh: Could not resolve hostname nobody: Name or service not known": "~/.ssh/config",
    "ssh: connect to host a port 22: Connection refused": "is it up",
    "ssh: connect to host a port 22: No route to host": "is it up",
    "sudo: a password is required": 'echo "$USER ALL=(root) NOPASSWD: ALL" | sudo tee -a',
    "sudo: sorry, you must have a tty to run sudo": "!requiretty",
    'sudo: The "no new privileges" flag is set': "leave `sudo` out",
    'Please login as the user "debian" rather than the user "root".': "name the user debian in",
    "Please login as the user admin rather than root": "name the user admin in",
    "This account is currently not available.": "chsh -s /bin/sh",
    "sh: 1: sudo: not found": "install sudo",
    "bash: line 1: sudo: command not found": "install sudo",
    "fish: Unknown command: sudo": "install sudo",
    "sudo: Command not found.": "install sudo",
    "nsenter: cannot open /run/netns/x: No such file or directory": "`reach`",
    "sh: 1: /opt/tool: Permission denied": "",
    "": "",
}


@pytest.mark.parametrize(("said", "remedy"), SAID.items(), ids=map(str, range(len(SAID))))
def test_a_message_has_its_remedy(said: str, remedy: str) -> None:
    found = remedy_for(said)
    assert remedy in found
    assert bool(found) == bool(remedy)

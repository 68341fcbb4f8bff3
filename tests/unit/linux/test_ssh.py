"""Commands that reach another machine without asking anybody questions."""

from __future__ import annotations

from aferir.linux import ssh


def test_ssh_alone_is_kept_from_asking() -> None:
    first, *options, host, command = ssh.unattended(["/usr/bin/ssh", "login", "salloc"])
    assert (first, host, command) == ("/usr/bin/ssh", "login", "salloc")
    assert "BatchMode=yes" in options
    assert ssh.unattended(["podman", "exec", "ssh"]) == ["podman", "exec", "ssh"]
    assert ssh.unattended([]) == []

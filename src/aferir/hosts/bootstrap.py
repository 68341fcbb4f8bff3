"""Scripts that turn a shell into an agent, in three steps that each end with a marked line.

1. The shell reports the host's architecture and its Python. 2. That Python reports whether the
agent is there already, and unpacks it if it is not. 3. It becomes the agent, and messages begin.

No step is sent before the previous one has answered, because a shell may read ahead. Other output
of the host, such as banners and greetings of profiles, is skipped.
"""

from __future__ import annotations

import hashlib

from aferir.hosts import bundle
from aferir.hosts.messages import AGENT

__all__ = ["AGENT", "BROKEN", "NO_PYTHON", "PYTHON", "SHELL", "TERMINAL"]

SHELL = "aferir-shell"
PYTHON = "aferir-python"
TERMINAL = "terminal"
"""Word that the shell prints in place of a Python if our input is a terminal, which echoes it."""
NO_PYTHON, BROKEN = "none", "broken"
"""Words printed in place of another Python's version: there is no other, or it does not start."""

_FIND = r"""
a_python=-
for a_one in python{version} python3 python; do
  if "$a_one" -E -S -c 'import sys; sys.exit("%d.%d" % sys.version_info[:2] != "{version}")' \
      >/dev/null 2>&1; then a_python=$(command -v "$a_one"); break; fi
done
if [ "$a_python" = - ]; then
  for a_one in python3.14 python3.13 python3.12 python3.11 python3 python; do
    if "$a_one" -s -P -c 'import sys, msgspec
sys.exit(sys.version_info < (3, 11) or msgspec.__version__ < "0.18")' \
        >/dev/null 2>&1; then a_python=$(command -v "$a_one"); break; fi
  done
fi
a_other={version}
if [ "$a_python" = - ]; then
  a_other=$(python3 -E -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null ||
    if command -v python3 >/dev/null; then echo {broken}; else echo {none}; fi)
fi
if [ -t 0 ]; then a_python={terminal}; fi
printf '\n%s %s %s %s %s\n' {mark} {token} "$(uname -m || echo unknown)" "$a_python" "$a_other"
"""

# Nobody's modules must stand in for Python's own: neither those of the current folder (-P) nor
# those that a profile names (-E). The agent's name is the last argument, so that ps(1) shows it.
_START = """exec "$a_python" -E -S -P -c 'import os, sys
os.write(1, b"\\n{mark} {token} started\\n")
exec(sys.stdin.buffer.read(int(sys.stdin.buffer.readline())))' aferir.hosts.agent
"""

_UNPACK = r"""
import os, sys
digest, token = {digest!r}, {token!r}
def say(*words):
    os.write(1, ("\n{mark} " + " ".join((token, *words)) + "\n").encode())
def refusal(folder):
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if os.stat(folder).st_uid != os.geteuid():
            return "it is not ours"
        name = os.path.join(folder, "trial-" + token)
        with open(name, "w") as trial:
            trial.write("#")
        os.unlink(name)
        return "noexec" if os.statvfs(folder).f_flag & os.ST_NOEXEC else ""
    except OSError as error:
        return error.strerror
def unpack(content, folder):
    import io, shutil, tempfile, zipfile
    os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
    making = tempfile.mkdtemp(dir=os.path.dirname(folder))
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for one in archive.infolist():
                os.chmod(archive.extract(one, making), one.external_attr >> 16)
        open(os.path.join(making, ".whole"), "w").close()
        try:
            os.rename(making, folder)
        except OSError:
            if not os.path.exists(os.path.join(folder, ".whole")):
                raise
    finally:
        shutil.rmtree(making, ignore_errors=True)
def place():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    places = ["/var/cache/aferir"] if os.geteuid() == 0 else []
    if os.path.isabs(cache):  # a user without an account has no home
        places.append(os.path.join(cache, "aferir"))
    places += ["/var/tmp/aferir-%d" % os.geteuid(), "/tmp/aferir-%d" % os.geteuid()]
    why = []
    for one in places:
        if not (said := refusal(one)):
            return one
        why.append("%s: %s" % (one, said))
    say("nowhere", "no folder there takes programs and lets them run (%s)" % "; ".join(why))
    sys.exit(0)
def bring(folder):
    if os.path.exists(os.path.join(folder, ".whole")):
        say("have", folder)
        return
    import hashlib
    say("need", folder)
    length, total = sys.stdin.buffer.readline().split()
    content = sys.stdin.buffer.read(int(length))
    if hashlib.sha256(content).hexdigest() != total.decode():
        say("broken", "the agent did not arrive whole")
        sys.exit(0)
    unpack(content, folder)
    say("unpacked", folder)
try:
    folder = os.path.join(place(), "agents", digest)
    bring(folder)
    # What is installed there is of use to a Python of another version alone: see `site`.
    own = "%d.%d" % sys.version_info[:2] == {version!r}
    path = [folder, os.path.join(folder, "compiled")] if own else [folder]
    os.environ["PYTHONPATH"] = os.pathsep.join(path)
    if not own:
        os.execv(sys.executable, [sys.executable, "-s", "-P", "-m", "aferir.hosts.agent", token])
except OSError as error:
    say("failed", str(error))
    sys.exit(0)
sys.path[:0] = path
sys.dont_write_bytecode = False  # else every agent would compile all its modules
from aferir.hosts import agent
sys.exit(agent.main(token))
"""


def shell_script(token: str) -> bytes:
    """Script that asks the shell for its architecture, a suitable Python, and any other Python.

    A Python of another version is suitable if it has msgspec, since ours is compiled for one
    version.
    """
    return _FIND.format(
        version=bundle.PYTHON,
        mark=SHELL,
        token=token,
        terminal=TERMINAL,
        none=NO_PYTHON,
        broken=BROKEN,
    ).encode()


def start_script(token: str) -> bytes:
    """Script that replaces the shell on the host by Python, which then reports that it runs."""
    return _START.format(mark=PYTHON, token=token).encode()


def unpack_script(token: str, digest: str) -> bytes:
    """Code for the Python on the host: it unpacks the archive of `digest` and becomes the agent."""
    code = _UNPACK.format(digest=digest, token=token, mark=PYTHON, version=bundle.PYTHON).encode()
    return f"{len(code)}\n".encode() + code


def archive_bytes(content: bytes) -> bytes:
    """The archive in the form that the unpacking Python reads."""
    return f"{len(content)} {hashlib.sha256(content).hexdigest()}\n".encode() + content

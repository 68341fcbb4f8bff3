"""The script that ends programs in a guest."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from aferir.environments import agent
from tests.asleep import nobody_elses

NO_PROCESS = str(2**22 + 1)  # more than a process ID may be (proc(5), pid_max)


def killed_with(folder: Path, grep_script: str) -> None:
    """Run the script with that grep, in which GREP is the real one; it kills a process."""
    grep = folder / "grep"
    grep.write_text(grep_script.replace("GREP", shutil.which("grep") or ""), encoding="ascii")
    grep.chmod(0o755)
    name, value = "AFERIR_TEST_MARK", str(nobody_elses())
    path = f"{folder}:{os.environ['PATH']}"
    aim = {"AIM": f"{name}={value}", "FIRST": NO_PROCESS, "PATH": path}
    with subprocess.Popen(["sleep", "1000"], env={**os.environ, name: value}) as marked:
        try:
            subprocess.run(["/bin/sh", "-c", agent._KILL], env=aim, check=True)
            assert marked.wait(600) == -9
        finally:
            marked.kill()


def test_a_process_that_ends_while_others_are_looked_for_saves_none_of_them(tmp_path: Path) -> None:
    """The real grep exits with 2 where a file of /proc is gone when it opens it."""
    killed_with(tmp_path, '#!/bin/sh\nGREP "$@"\nexit 2\n')


def test_a_process_that_is_just_being_executed_is_found_by_the_next_look(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    killed_with(tmp_path, f'#!/bin/sh\n[ -e {seen} ] || {{ : > {seen}; exit 1; }}\nGREP "$@"\n')

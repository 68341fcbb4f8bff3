"""The script by which a program runs commands on other hosts, as its answers come."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

from aferir.hosts import enter


def _made(folder: Path) -> Path:
    script = folder / "enter"
    script.write_text(enter.SCRIPT)
    script.chmod(0o755)
    subprocess.run([script, "--make", "b"], check=True)
    return script


def _asked(folder: Path) -> tuple[str, str]:
    return enter.read((folder / "asked-b").read_text())


def _tell(folder: Path, code: int) -> None:
    subprocess.run(["sh", "-c", enter.TELL, "sh", str(code), folder / "ended-b"], check=True)


def test_an_answer_reaches_a_script_that_has_no_processor_meanwhile(tmp_path: Path) -> None:
    with subprocess.Popen([_made(tmp_path), "b", "uname", "-r"]) as asking:
        assert _asked(tmp_path) == ("run", "uname -r")
        asking.send_signal(signal.SIGSTOP)
        _tell(tmp_path, 7)
        asking.send_signal(signal.SIGCONT)
        assert asking.wait() == 7


def test_an_answer_to_a_script_that_was_ended_is_for_no_other(tmp_path: Path) -> None:
    script = _made(tmp_path)
    with subprocess.Popen([script, "b", "first"]) as ended:
        assert _asked(tmp_path) == ("run", "first")
        ended.kill()
    _tell(tmp_path, 7)
    with subprocess.Popen([script, "b", "second"]) as asking:
        assert _asked(tmp_path) == ("run", "second")
        _tell(tmp_path, 3)
        assert asking.wait() == 3

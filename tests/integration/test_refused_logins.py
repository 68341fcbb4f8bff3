"""Accounts that sshd lets in and that give no shell of ours: each refusal names the remedy."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from aferir.errors import MissingError
from aferir.hosts import hearing, messages, opening
from aferir.hosts.line import Line
from aferir.model.host import HostSpec
from tests.integration import real_hosts
from tests.integration.real_hosts import Lab
from tests.integration.support import own_state

pytestmark = pytest.mark.integration
ACCOUNTS = r"""
for account in asks:/bin/sh closed:/usr/sbin/nologin silent:/bin/false bound:/bin/sh; do
  name=${account%:*}
  useradd -m -p x -s ${account#*:} $name
  cp -r /root/.ssh /home/$name/
  chown -R $name /home/$name/.ssh
done
sed -i 's/^/command="echo bye" /' /home/bound/.ssh/authorized_keys
[ ! -d /etc/sudoers.d ] || echo 'asks ALL=(ALL) ALL' > /etc/sudoers.d/asks
"""
"""Commands of the host that make its accounts."""


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with pytest.MonkeyPatch.context() as patch:
        own_state(tmp_path_factory, patch)
        # However busy this machine is, the reason is waited for.
        patch.setattr(hearing, "_ENDING_S", 600.0)
        patch.setattr(opening, "_LOGIN_S", 600.0)
        folder = tmp_path_factory.mktemp("farm")
        with real_hosts.lab(folder, ["a"], {"a": ACCOUNTS}) as made:
            made.machines["a"].boot()
            real_hosts.wait_for(made, "a")
            yield made


def spec(farm: Lab, user: str, *, sudo: bool = False) -> HostSpec:
    reach = ("ssh", "-F", str(farm.config), "-l", user, "a")
    return HostSpec(name="a", reach=reach, sudo=sudo)


@pytest.mark.parametrize(
    ("user", "said", "remedy"),
    [
        ("closed", "This account is currently not available", "chsh -s /bin/sh"),
        ("silent", "ends at once", "account's shell refuses"),
        ("bound", "bye", r"bound to a command by /home/bound/.ssh/authorized_keys:1 there"),
    ],
    ids=["nologin", "false", "forced-command"],
)
def test_a_login_without_a_shell_says_what_starts_instead(
    farm: Lab, user: str, said: str, remedy: str
) -> None:
    with pytest.raises(MissingError, match=said) as refused:
        Line(spec(farm, user))
    assert re.search(remedy, refused.value.remedy), refused.value.remedy


def test_sudo_that_asks_for_a_password_is_refused_with_the_rule_that_helps(farm: Lab) -> None:
    if not farm.ssh("a", "command -v sudo || true"):
        pytest.skip("sudo is missing: scripts/setup dev")
    with pytest.raises(MissingError, match="sudo: a password is required") as refused:
        Line(spec(farm, "asks", sudo=True))
    found = re.search(r"`echo \"(.+?)\" \| sudo tee -a (\S+)`", refused.value.remedy)
    assert found is not None, refused.value.remedy
    farm.ssh("a", f'USER=asks; echo "{found[1]}" > {found[2]}')
    line = Line(spec(farm, "asks", sudo=True))
    assert line.ask(messages.Identify(), messages.Identity).name == "a"
    assert line.close()

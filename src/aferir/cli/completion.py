"""Print a script by which a shell completes verbs and options.

bash: aferir completion bash > ~/.local/share/bash-completion/completions/aferir
zsh:  aferir completion zsh > ~/.zfunc/_aferir, with ~/.zfunc in fpath before compinit
fish: aferir completion fish > ~/.config/fish/completions/aferir.fish
"""

from __future__ import annotations

import argparse

NAME = "completion"
HELP = "print a script with which bash, zsh or fish completes verbs and options"

_SHELLS = ("bash", "zsh", "fish")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir completion`."""
    parser.add_argument("shell", choices=_SHELLS, help="the shell that is to complete")


def execute(options: argparse.Namespace) -> int:
    """Declare every verb, and print the completions in the shell's language."""
    import shtab

    from aferir.cli import parser
    from aferir.cli.verbs import declare_all

    made = parser()
    declare_all(made)
    print(shtab.complete(made, options.shell))
    return 0

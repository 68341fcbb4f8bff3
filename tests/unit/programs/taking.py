"""Validation of a program's parameters from a table, as in an experiment file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aferir.programs.base import Command, Program, judge, read_parameters


def wrong_with(program: Program[Any], table: Mapping[str, object]) -> list[str]:
    """Errors in the parameters, each as `name: what is wrong; remedy`."""
    return [f"{one.key}: {one.message}; {one.remedy}" for one in judge(program, table)[1]]


def command_of(program: Program[Any], table: Mapping[str, object]) -> Command:
    return program.command(read_parameters(program, table))


def memory_of(program: Program[Any], table: Mapping[str, object]) -> int:
    return program.memory_bytes(read_parameters(program, table))

"""Pods of a Kubernetes cluster, by kubectl.

A pod ends by itself after a day (`activeDeadlineSeconds`), should nobody be left to delete it.
"""

from __future__ import annotations

import contextlib
import json
import shlex

from aferir.allocations.base import Allocator
from aferir.errors import AferirError, MissingError
from aferir.linux import journal, process, ssh
from aferir.model.host import AllocationSpec, KubernetesKeys

NAME = "kubernetes"
_LONGEST_S = 86_400
_READY_S = 600
_ASKED_S = 120.0
_LABEL = "aferir-allocation"


class Pods:
    """Allocated pods of Kubernetes, which exist until `release`."""

    def __init__(self, entry: journal.Entry, keys: KubernetesKeys, nodes: int) -> None:
        self._entry = entry
        self.reach = tuple(
            (*keys.by, *_kubectl(keys), "exec", "--stdin", f"{_name(entry)}-{number}", "--")
            for number in range(1, nodes + 1)
        )

    def release(self) -> None:
        """Delete the pods."""
        give_back(self._entry)


def allocate(spec: AllocationSpec) -> Pods:
    """Make the pods, on different nodes if there are enough, and wait until all are ready.

    Errors: MissingError with kubectl's message.
    """
    keys = spec.keys
    assert isinstance(keys, KubernetesKeys)
    by = ssh.unattended(keys.by)
    details = {"by": shlex.join(keys.by), "namespace": keys.namespace}
    entry = journal.write(NAME, details)
    try:
        pods = [_pod(f"{_name(entry)}-{n}", entry, keys) for n in range(1, spec.nodes + 1)]
        document = json.dumps({"apiVersion": "v1", "kind": "List", "items": pods})
        apply = [*by, *_kubectl(keys), "create", "--filename", "-"]
        process.run(apply, input_text=document, timeout_s=_ASKED_S)
        ready = ["wait", "pod", "--for=condition=Ready", f"--selector={_LABEL}={entry.id}"]
        ready += [f"--timeout={_READY_S}s"]
        process.run([*by, *_kubectl(keys), *ready], timeout_s=_READY_S + _ASKED_S)
    except BaseException as error:
        with contextlib.suppress(AferirError):  # the journal has them still
            give_back(entry)
        if not isinstance(error, AferirError):
            raise
        raise MissingError(
            f"Kubernetes allocates no pods: {error.message}",
            remedy="see `kubectl get events`, and `namespace` and `image` of [kubernetes]",
        ) from None
    return Pods(entry, keys, spec.nodes)


def give_back(entry: journal.Entry) -> None:
    """Delete the entry's pods and erase the entry. Errors: ProgramError if that fails."""
    keys = KubernetesKeys(
        by=tuple(shlex.split(entry.details.get("by", ""))),
        namespace=entry.details.get("namespace", "default"),
    )
    line = ["delete", "pod", f"--selector={_LABEL}={entry.id}", "--now", "--ignore-not-found"]
    try:
        process.run([*ssh.unattended(keys.by), *_kubectl(keys), *line], timeout_s=_ASKED_S)
    except MissingError:  # without kubectl no pod was made
        journal.erase(entry)
        return
    journal.erase(entry)


def _kubectl(keys: KubernetesKeys) -> tuple[str, ...]:
    return ("kubectl", f"--namespace={keys.namespace}")


def _name(entry: journal.Entry) -> str:
    return f"aferir-{entry.id}"


def _pod(name: str, entry: journal.Entry, keys: KubernetesKeys) -> dict[str, object]:
    """A pod that does nothing, and avoids nodes that have another one of the same allocation."""
    selector = {"matchLabels": {_LABEL: entry.id}}
    apart = {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}
    terms = [{"weight": 100, "podAffinityTerm": apart}]
    anti = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}
    container = {"name": "host", "image": keys.image, "command": ["sleep", str(_LONGEST_S)]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {_LABEL: entry.id}},
        "spec": {
            "restartPolicy": "Never",
            "activeDeadlineSeconds": _LONGEST_S,
            "affinity": anti,
            "containers": [container],
        },
    }


ALLOCATOR = Allocator(name=NAME, allocate=allocate, give_back=give_back)

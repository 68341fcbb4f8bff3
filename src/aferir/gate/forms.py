"""Formats a gate's verdict for other tools. Pure.

JUnit XML for Jenkins and GitLab; `customSmallerIsBetter` of github-action-benchmark; Bencher Metric
Format.
"""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

from aferir.gate.judge import Seen, Verdict
from aferir.gate.words import details, headline, interval
from aferir.report.formatting import quantity
from aferir.statistics.ratio import at_level

_NANO = 1e9


def junit(name: str, verdict: Verdict, seen: Seen | None, noisy: Seen | None = None) -> str:
    """JUnit XML with one test case: a failure if it is slower, skipped if undecided."""
    failed, skipped = (verdict.answer == one for one in ("slower", "undecided"))
    suite = ET.Element(
        "testsuite",
        name="aferir gate",
        tests="1",
        failures=str(int(failed)),
        skipped=str(int(skipped)),
        errors="0",
    )
    case = ET.SubElement(suite, "testcase", classname="aferir.gate", name=_printable(name))
    if verdict.head_value is not None and verdict.unit == "s":
        case.set("time", f"{verdict.head_value:.6f}")
    if failed or skipped:
        told = ET.SubElement(case, "failure" if failed else "skipped", message=headline(verdict))
        told.text = "\n".join(details(verdict, seen, noisy))
    output = ET.SubElement(case, "system-out")
    output.text = "\n".join([headline(verdict), *details(verdict, seen, noisy)])
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def markdown(name: str, verdict: Verdict, seen: Seen | None, noisy: Seen | None = None) -> str:
    """Markdown for a comment in a pull request."""
    rows = (("base", verdict.base_value), ("head", verdict.head_value))
    table = [f"| {side} | {quantity(value, verdict.unit, exact=True)} |" for side, value in rows]
    return "\n".join(
        [
            f"### {headline(verdict)}",
            "",
            f"`{name.replace('`', '')}`",
            "",
            f"| | {verdict.metric}, median |",
            "| --- | ---: |",
            *table,
            f"| change | {interval(verdict)} |",
            "",
            *(f"- {line}" for line in details(verdict, seen, noisy)),
            "",
        ]
    )


def github_benchmark(name: str, verdict: Verdict) -> str:
    """JSON array for github-action-benchmark, also for metrics where higher is better."""
    if verdict.head_value is None:
        return "[]\n"
    low, high = _interval(verdict)
    entry = {
        "name": name,
        "unit": verdict.unit,
        "value": verdict.head_value,
        "range": f"{low:.5g} to {high:.5g}" if low is not None and high is not None else "",
        "extra": headline(verdict),
    }
    return json.dumps([entry], indent=2) + "\n"


def bencher(name: str, verdict: Verdict) -> str:
    """Bencher Metric Format; a duration is its built-in `latency`, in ns."""
    if verdict.head_value is None:
        return "{}\n"
    duration = verdict.unit == "s"
    scale = _NANO if duration else 1.0
    low, high = _interval(verdict)
    metric: dict[str, float] = {"value": verdict.head_value * scale}
    if low is not None and high is not None:
        metric |= {"lower_value": low * scale, "upper_value": high * scale}
    measure = "latency" if duration else verdict.metric.replace("_", "-")
    return json.dumps({name: {measure: metric}}, indent=2) + "\n"


def _interval(verdict: Verdict) -> tuple[float | None, float | None]:
    """Interval of head's value: the base's median times the interval of the ratio."""
    found = at_level(verdict.ratio, 0.95)
    if found is None or verdict.base_value is None:
        return None, None
    ends = [verdict.base_value * found.low, verdict.base_value * found.high]
    if verdict.better == "higher":
        ends = [verdict.base_value / found.high, verdict.base_value / found.low]
    return ends[0], ends[1]


def _printable(text: str) -> str:
    """Text without control characters, which XML cannot represent."""
    return "".join(c if c.isprintable() else " " for c in text)

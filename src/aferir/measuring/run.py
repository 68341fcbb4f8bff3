"""One run of a program in an instance, between two snapshots of the probes."""

from __future__ import annotations

from collections.abc import Mapping

from aferir.environments.base import Instance
from aferir.environments.measured import Asked, Measured
from aferir.errors import AferirError, MissingError, TimeoutExpired
from aferir.linux.process import explain_exit
from aferir.measuring import cost
from aferir.measuring.accounting import watching
from aferir.measuring.energy import metered
from aferir.measuring.outcome import OTHERS_DIE, failure_of, refuse_exhaustion, with_remedy
from aferir.measuring.sampling import sampled
from aferir.measuring.snapshots import Watch, compare, take_after, take_before
from aferir.model.plan import PAGE_CACHE
from aferir.model.record import MISSING, Failure
from aferir.probes import account

_ALIVE_LIMIT_S = 30.0


def measure(
    instance: Instance,
    line: tuple[str, ...],
    environment: Mapping[str, str],
    watch: Watch,
    timeout_s: float,
) -> Measured:
    """Resume a paused instance, run `line` with `environment`'s variables, and pause it again."""
    elsewhere = instance.accounting.elsewhere
    if elsewhere is None:
        return _measure(instance, line, environment, watch, timeout_s)
    asked = Asked(
        line=line,
        environment=environment,
        timeout_s=timeout_s,
        load_period_s=watch.load_period_s,
        accounted=watch.account is not None,
    )
    try:
        return elsewhere(asked)
    except AferirError as error:
        return Measured(failure=failure_of("instance", error), lost=True)


def _measure(
    instance: Instance,
    line: tuple[str, ...],
    environment: Mapping[str, str],
    watch: Watch,
    timeout_s: float,
) -> Measured:
    if instance.spec.page_cache != "warm":
        environment = {**environment, PAGE_CACHE: instance.spec.page_cache}
    try:
        instance.resume()
        with watching(watch.account, instance.accounting) as watched:
            before = take_before(watch, instance)
            with metered(watch.meter) as energy, sampled(watch.load_period_s, instance) as load:
                done = instance.run(line, timeout_s=timeout_s, environment=environment, check=False)
            after = take_after(watch, instance)
        if any(one.exit_code for one in (done, *done.others)) and not _alive(instance):
            message = f"the instance died: `{line[0]}` {explain_exit(done)}"
            observed = compare(watch, before, after)
            return Measured(
                done, observed, failure=Failure("instance", message, OTHERS_DIE), lost=True
            )
        instance.pause()
    except TimeoutExpired as error:
        return Measured(failure=failure_of("time-limit", error), lost=True)
    except MissingError as error:
        return Measured(failure=failure_of(MISSING, error), lost=True)
    except (AferirError, OSError) as error:
        refuse_exhaustion(error, line[0])
        failure = with_remedy(failure_of("instance", error, "the instance died: {}"))
        return Measured(failure=failure, lost=True)
    seen = (*compare(watch, before, after), *load.samples, *energy.samples)
    seen += cost.samples(watch.price_per_hour, done.duration_s)
    if watched.account is not None:
        seen += account.samples(watched.account)
    series = (*load.series, *energy.series)
    return Measured(done, seen, series, warnings=energy.warnings)


def _alive(instance: Instance) -> bool:
    try:
        return instance.run(["true"], timeout_s=_ALIVE_LIMIT_S, check=False).exit_code == 0
    except (AferirError, OSError):
        return False

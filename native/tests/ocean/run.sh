#!/bin/sh
# run.sh MPI PROGRAM HELPER: the ocean proxy with 1, 2 and 4 ranks and both solvers. It has to
# converge with second order, keep its volume, and find the same bits with any number of ranks.
# Exit code 77: skipped, with the reason.
set -u
mpi=$1 program=$2 helper=$3
if ! command -v "mpirun.$mpi" >/dev/null; then
    echo "skipped: no mpirun.$mpi"
    exit 77
fi
failed=0
# One processor for all ranks. Two ranks on two processors poll without giving way, and each message
# takes a time slice of whatever runs there besides.
processor=$(taskset -cp $$ | sed 's/.*: *//; s/[,-].*//')

launch() { # ranks options ...
    ranks=$1
    shift
    case $mpi in
    openmpi) timeout 1500 taskset -c "$processor" mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none \
        -n "$ranks" "$program" "$@" ;;
    mpich) timeout 1500 taskset -c "$processor" mpirun.mpich -n "$ranks" "$program" "$@" ;;
    esac
}

expect() { # what text pattern
    if echo "$2" | grep -q "$3"; then
        echo "ok $1"
    else
        echo "FAILED $1: $2"
        failed=1
    fi
}

run() { # ranks options ...
    ranks=$1
    shift
    launch "$ranks" --nx 128 --ny 64 --steps 2 --rounds 1 --helper "$helper" --nodes 2 \
        --ntp-period-us 2000 --noise-period-us 5000 "$@"
}

expect "usage" "$(launch 2 --help)" '^usage: '
for solver in chronopoulos-gear pcg; do
    out=$(launch 1 --check --solver $solver)
    expect "second order, $solver: $out" "$out" '"verified":true'
done
states=
for ranks in 1 2 4; do
    out=$(run $ranks)
    expect "$ranks ranks" "$out" '"verified":true'
    states="$states $(echo "$out" | sed 's/.*"state":"\([0-9a-f]*\)".*/\1/')"
done
expect "the same bits with 1, 2 and 4 ranks:$states" "$states" '^ \([0-9a-f]\{16\}\) \1 \1$'
expect "two global sums an iteration" "$(run 2 --solver pcg)" '"verified":true'

if [ "$(id -u)" = 0 ] && [ -x /usr/sbin/chronyd ]; then  # it leaves the clock alone on one host
    out=$(run 2 --daemon chronyd)
    expect "chronyd beside" "$out" '"daemon":"chronyd","steered_hosts":0.*"verified":true'
fi

# The tests can fail: a solver that is stopped early is found out.
out=$(run 1 --most-iterations 3)
expect "an unverified run has no figures" "$out" '"verified":false,"error":'
case $out in *duration_s*) echo "FAILED: figures of an unverified run"; failed=1 ;; esac
exit $failed

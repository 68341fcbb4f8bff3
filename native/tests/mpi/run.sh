#!/bin/sh
# run.sh MPI LIBRARY SOURCES [ranks ...]: the same small programs in C and Fortran with 2, 4 and 8
# ranks on this host, each built by the MPI's own compilers. Exit code 77: skipped, with the reason.
set -u
mpi=$1 library=$2 sources=$3
shift 3
[ $# -gt 0 ] || set -- 2 4 8
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! command -v "mpirun.$mpi" >/dev/null; then
    echo "skipped: no mpirun.$mpi"
    exit 77
fi

launch() { # ranks program ...
    ranks=$1
    shift
    case $mpi in
    openmpi) timeout -k 10 500 mpirun.openmpi --allow-run-as-root --oversubscribe -n "$ranks" \
        -x "LD_PRELOAD=$library" "$@" ;;
    # UCX opens every interface of the network otherwise, and fails if one is removed meanwhile.
    mpich) timeout -k 10 500 mpirun.mpich -n "$ranks" -genv UCX_TLS self,sm \
        -genv LD_PRELOAD "$library" "$@" ;;
    esac
}

pages() { # pages of shared memory that no process uses any more: one that does holds their lock
    for page in /dev/shm/aferir-mpi-*; do
        [ -e "$page" ] && flock -n "$page" true && echo "$page"
    done | sort
}
pages >"$work/before"
failed=0
check() { # name ranks program ...
    name=$1
    shift
    if launch "$@" >"$work/out" 2>&1; then
        echo "ok $name, $1 ranks: $(tail -n 1 "$work/out")"
    else
        echo "FAILED $name, $1 ranks:"
        cat "$work/out"
        failed=1
    fi
}

mpicc.$mpi -O2 -Wno-deprecated-declarations "$sources/program.c" -o "$work/c" -pthread || exit 1
# MPICH's ranks spin without giving way, so each message among more ranks than cores takes a slice.
for ranks in "$@"; do
    rounds=5000
    [ "$ranks" -gt "$(nproc)" ] && rounds=40
    check C "$ranks" "$work/c" "$rounds"
done
# A wrapper around the program takes the common parent away; nothing may depend on it.
printf '#!/bin/sh\n"%s" 200 --hosts\n' "$work/c" >"$work/wrapped"
chmod +x "$work/wrapped"
check "C in a shell" 2 "$work/wrapped"

if command -v "mpifort.$mpi" >/dev/null && command -v gfortran >/dev/null; then
    for program in program_mpif.f program_mpi.f90 program_f08.f90; do
        mpifort.$mpi -O1 "$sources/$program" -o "$work/fortran" || exit 1
        check "$program" 2 "$work/fortran"
    done
else
    echo "skipped: Fortran programs, for there is no gfortran"
fi

# Without a launcher: one rank, whose environment MPI_Init changes. Nothing may be left in memory.
if ! LD_PRELOAD="$library" "$work/c" 10 >"$work/out" 2>&1; then
    echo "FAILED: C without a launcher:"
    cat "$work/out"
    failed=1
fi
# Other jobs of this machine make pages as well, which nobody has locked yet for a moment: what is
# left behind stays.
for try in $(seq 60); do
    pages | comm -13 "$work/before" - >"$work/left"
    [ -s "$work/left" ] || break
    sleep 1
done
if [ -s "$work/left" ]; then
    echo "FAILED: left in memory: $(cat "$work/left")"
    failed=1
fi

# The test can fail: the same program without the library is not told that time is global.
if launch 2 env -u LD_PRELOAD "$work/c" 10 >/dev/null 2>&1; then
    echo "FAILED: the program does not notice that the library is missing"
    failed=1
fi
exit $failed

#!/bin/sh
# hosts.sh MPI LIBRARY SOURCES: two and three "hosts" that are network namespaces joined by a bridge
# in a namespace of its own, over TCP. They share one clock, so what they should find is 0.
# All is journalled as aferir's own networks are, so that `aferir clean` removes what a kill leaves.
# Exit code 77: skipped, with the reason.
set -u
mpi=$1 library=$2 sources=$3 count=3
skip() {
    echo "skipped: $1"
    exit 77
}
[ "$(id -u)" = 0 ] || skip "network namespaces need root"
command -v "mpirun.$mpi" >/dev/null || skip "no mpirun.$mpi"
command -v ip >/dev/null || skip "no ip (package iproute2)"
state=${AFERIR_STATE:-/var/lib/aferir}
id=$(od -An -N6 -tx1 /dev/urandom | tr -d ' ')
name=aferir-$id entry=$state/journal/$id.json work=$state/namespaces/aferir-$id
export AFERIR_MARK="$id" # `aferir clean` ends what carries it

clean() {
    for host in bridge $(seq 0 $((count - 1))); do
        ip netns del "$name-$host" 2>/dev/null
    done
    rm -rf "$work" "$entry"
}
trap clean EXIT
trap 'exit 1' INT TERM HUP

# src/aferir/linux/journal.py: Entry; the start time is field 22 of stat, after a name in brackets.
started=$(sed 's/.*) //' "/proc/$$/stat" | cut -d ' ' -f 20)
mkdir -p "$state/journal" "$work" || exit 1
printf '{"id":"%s","kind":"namespace","owner_pid":%s,"owner_started":%s,"boot_id":"%s","details":{}}' \
    "$id" "$$" "$started" "$(cat /proc/sys/kernel/random/boot_id)" >"$work/entry" &&
    sync "$work/entry" && mv "$work/entry" "$entry" || exit 1
ip netns add "$name-bridge" 2>/dev/null || skip "no network namespaces here"

ip -n "$name-bridge" link add bridge type bridge && ip -n "$name-bridge" link set bridge up ||
    skip "no bridge here"
for i in $(seq 0 $((count - 1))); do
    echo "10.77.0.$((i + 1)) $name-$i" >>"$work/hosts"
done
echo "127.0.0.1 localhost" >>"$work/hosts"
for i in $(seq 0 $((count - 1))); do
    host=$name-$i
    ip netns add "$host" || exit 1
    ip -n "$host" link add eth0 type veth peer name "v$i" netns "$name-bridge" || exit 1
    ip -n "$name-bridge" link set "v$i" master bridge up || exit 1
    ip -n "$host" link set lo up || exit 1
    ip -n "$host" addr add "10.77.0.$((i + 1))/24" dev eth0 || exit 1
    ip -n "$host" link set eth0 up || exit 1
done

cat >"$work/agent" <<END
#!/bin/sh
[ "\$1" = -x ] && shift # as Hydra says to ssh
host=\$1
shift
# ip-netns(8) makes a mount namespace of its own: the host's /etc/hosts is not touched.
exec ip netns exec "\$host" unshare -u sh -c "
hostname \$host; mount --bind $work/hosts /etc/hosts; \$*"
END
chmod +x "$work/agent"
"mpicc.$mpi" -O2 -Wno-deprecated-declarations "$sources/program.c" -o "$work/c" -pthread || exit 1

launch() { # hosts ranks program ...
    hosts=$1 ranks=$2
    shift 2
    case $mpi in
    openmpi) "$work/agent" "$name-0" timeout -k 10 500 mpirun.openmpi --allow-run-as-root --oversubscribe \
        --mca plm_rsh_agent "$work/agent" --mca pml ob1 --mca btl tcp,self,vader \
        --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 --mca mpi_yield_when_idle 1 \
        --host "$hosts" -n "$ranks" -x "LD_PRELOAD=$library" -x AFERIR_MPI_REPORT=1 "$@" ;;
    mpich) "$work/agent" "$name-0" timeout -k 10 500 mpirun.mpich -launcher ssh \
        -launcher-exec "$work/agent" -iface eth0 -hosts "$hosts" -n "$ranks" \
        -genv UCX_TLS tcp,self -genv MPIR_CVAR_NOLOCAL 1 -genv LD_PRELOAD "$library" \
        -genv AFERIR_MPI_REPORT 1 "$@" ;;
    esac
}

# Hosts agree, and no message comes before it was sent, within what the library itself reports: the
# doubt of two hosts, which grows by that of their rates from then on. It holds on a busy machine.
agrees() {
    tr '}' '\n' <"$work/out" | awk '
    function field(name) {
        match($0, "\"" name "\": [^,}]*")
        return substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 4)
    }
    /"doubt_ns"/ {
        doubt = field("doubt_ns") + 0
        if (doubt > most) most = doubt
        rate = field("rate_doubt_ppb") + 0
        if (rate > fastest) fastest = rate
    }
    /^spread_ns/ { spread = $2; known = $4; order = $6; passed = $8; told = 1 }
    END {
        allowed = 2 * (most + fastest * 1e-9 * passed)
        print "spread " spread " ns and order " order " ns, allowed " known + allowed " ns"
        exit !(told && most > 0 && spread <= known + allowed && order >= -allowed)
    }'
}

# MPICH's ranks spin without giving way, so each message among more ranks than cores takes a slice.
rounds=300
[ "$mpi" = mpich ] && rounds=40
# Of the ranks on several hosts two share the first.
failed=0
for hosts in "$name-0:1,$name-1:1" "$name-0:2,$name-1:1,$name-2:1"; do
    shared=$(echo "$hosts" | grep -c :2)
    ranks=$(($(echo "$hosts" | tr -cd : | wc -c) + shared))
    kind=--hosts
    [ "$shared" -gt 0 ] && kind=--hosts-may-hang # see end_without_finalize
    launch "$hosts" "$ranks" "$work/c" "$rounds" $kind >"$work/out" 2>&1
    if agrees && [ "$(grep -c '^verdict 0' "$work/out")" = "$ranks" ]; then
        echo "ok $hosts:"
    else
        echo "FAILED $hosts:"
        failed=1
    fi
    grep -v '^\[.*plm:rsh: Warning' "$work/out"
    expected=$(echo "$hosts" | tr -cd , | wc -c)
    if ! grep -q "\"hosts\": $((expected + 1))," "$work/out"; then
        echo "FAILED: not $((expected + 1)) hosts"
        failed=1
    fi
done
# A second look for a rate, in which all ranks take part. How near to 0 the rate is depends on the
# load; what it may not do is stop.
launch "$name-0:1,$name-1:1" 2 env AFERIR_MPI_RATE_MS=100 "$work/c" 1 --hosts >"$work/out" 2>&1
told=$(grep -c '"rate_doubt_ppb"' "$work/out")
strayed=$(grep -c '"strayed_ns"' "$work/out")
if [ "$told" = 2 ] && [ "$strayed" = 2 ]; then
    echo "ok second look: $(grep -o '"rate_ppb.*' "$work/out" | tr '\n' ' ')"
else
    echo "FAILED second look:"
    cat "$work/out"
    failed=1
fi
exit $failed

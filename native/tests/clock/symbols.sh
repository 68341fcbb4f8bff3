#!/bin/sh
# Every name that the given libraries define begins with rvec_ or rgap_, and a shared library shows
# those alone that its header declares: a program may use any other name for its own.
#
#     symbols.sh <library> ...
set -eu
include=$(cd "$(dirname "$0")/../../include/aferir" && pwd)
bad=0
for library; do
    case $library in
    *.a) names=$(nm --defined-only --extern-only "$library" | awk 'NF == 3 { print $3 }') ;;
    *) names=$(nm --dynamic --defined-only "$library" | awk 'NF == 3 { print $3 }') ;;
    esac
    [ -n "$names" ] || { echo "$library shows nothing"; bad=1; }
    for name in $names; do
        case $library:$name in
        *.a:rvec_* | *.a:rgap_*) ;;
        *.a:*) echo "$library shows $name" && bad=1 ;;
        *) grep -qw "$name" "$include"/*.h || { echo "$library shows $name" && bad=1; } ;;
        esac
    done
done
exit "$bad"

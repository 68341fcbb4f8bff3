#!/bin/sh
# Installs the libraries, as archives and as shared ones, and builds programs from what is installed
# alone: by CMake and by pkg-config; C, C++ and, where there is a compiler, Fortran.
#
#     consumer.sh <folder of native/clock> <folder for all that it builds>
set -eu
clock=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$2"
mkdir -p "$2"
cd "$2"

# Folders are configured again instead of once more: CMake looks at the compilers once.
for shared in OFF ON; do
    prefix=$PWD/installed-$shared
    cmake -S "$clock" -B library -DBUILD_SHARED_LIBS=$shared -DCMAKE_INSTALL_PREFIX="$prefix" \
        -DCMAKE_INSTALL_LIBDIR=lib
    cmake --build library --clean-first --parallel 2
    cmake --install library
    "$here/symbols.sh" "$prefix"/lib/librvec.* "$prefix"/lib/librgap.*

    cmake -S "$here/consumer" -B by-cmake -U aferir_clock_DIR -DCMAKE_PREFIX_PATH="$prefix"
    cmake --build by-cmake --clean-first
    by-cmake/consumer_c
    by-cmake/consumer_cpp

    PKG_CONFIG_PATH=$prefix/lib/pkgconfig
    LD_LIBRARY_PATH=$prefix/lib
    export PKG_CONFIG_PATH LD_LIBRARY_PATH
    flags=$(pkg-config --cflags --libs rgap)
    # shellcheck disable=SC2086 # several words
    { cc "$here/consumer/consumer.c" $flags -o "c-$shared" && "./c-$shared"; }
    # shellcheck disable=SC2086
    { c++ -std=c++20 "$here/consumer/consumer.cpp" $flags -o "cpp-$shared" && "./cpp-$shared"; }
    if command -v gfortran >/dev/null; then
        module=$prefix/lib/aferir/fortran/gnu-$(gfortran -dumpversion | cut -d. -f1)
        # shellcheck disable=SC2086
        gfortran -I "$module" "$here/rvec_fortran_test.f90" -L "$module" -lrvec_fortran $flags -o "module-$shared"
        "./module-$shared"
        # shellcheck disable=SC2086
        gfortran "$prefix/share/aferir/rvec.f90" "$here/rvec_fortran_test.f90" $flags -o "fortran-$shared"
        "./fortran-$shared"
    fi
done

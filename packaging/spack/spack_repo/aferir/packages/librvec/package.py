# SPDX-License-Identifier: Apache-2.0
# `scripts/package spack` writes the version and the checksum of its source archive into this file.

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Librvec(CMakePackage):
    """The clocks of aferir for C, C++ and Fortran: librvec, a strictly increasing clock that is read
    without a system call, and librgap, one time for several machines that is set once."""

    url = "https://pypi.org/packages/source/a/aferir/aferir-@VERSION@.tar.gz"

    license("Apache-2.0")

    version("@VERSION@", sha256="@SHA256@")

    variant("shared", default=True, description="Build shared libraries instead of archives")
    variant("fortran", default=False, description="Build the Fortran module")

    depends_on("c", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.25:", type="build")

    root_cmakelists_dir = "native/clock"

    def cmake_args(self):
        return [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define("CMAKE_DISABLE_FIND_PACKAGE_Fortran", "~fortran" in self.spec),
        ]

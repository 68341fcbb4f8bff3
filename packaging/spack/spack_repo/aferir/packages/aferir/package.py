# SPDX-License-Identifier: Apache-2.0
# `scripts/package spack` writes the version and the checksum of its source archive into this file.

import os

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class Aferir(PythonPackage):
    """Measures what a computing environment (bare host, container, virtual machine) costs a
    program: runs real programs in each, next to each other in rounds, and reports what differs, by
    how much, and how sure that is."""

    pypi = "aferir/aferir-@VERSION@.tar.gz"

    license("Apache-2.0")

    version("@VERSION@", sha256="@SHA256@")

    variant(
        "mpi",
        default="openmpi",
        values=("openmpi", "mpich", "none"),
        multi=False,
        description="MPI of the programs that pass messages, and of MPI_Wtime as one time",
    )
    variant("dedup", default=True, description="Build the program that finds duplicate blocks")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("python@3.11:", type=("build", "link", "run"))
    depends_on("py-scikit-build-core@0.11:", type="build")
    depends_on("py-nanobind@3.1:", type="build")

    depends_on("py-duckdb@1.4:", type="run")
    depends_on("py-jinja2@3.1:", type="run")
    depends_on("py-msgspec@0.20:", type="run")
    depends_on("py-numpy@2.2:", type="run")
    depends_on("py-rich@14:", type="run")
    depends_on("py-scipy@1.15:", type="run")
    depends_on("py-shtab@1.7:", type="run")

    depends_on("openmpi", when="mpi=openmpi", type=("build", "link", "run"))
    depends_on("mpich", when="mpi=mpich", type=("build", "link", "run"))
    depends_on("zlib-api", when="+dedup", type=("build", "link"))
    depends_on("openssl", when="+dedup", type=("build", "link"))

    def config_settings(self, spec, prefix):
        """Settings of scikit-build-core: an MPI's compiler wrapper, the clocks' module for the
        one Python of the spec."""
        settings = {
            "wheel.py-api": "",
            "cmake.define.AFERIR_ONE_PYTHON": True,
            "cmake.define.CMAKE_DISABLE_FIND_PACKAGE_ZLIB": "~dedup" in spec,
        }
        # Nothing is taken from the host that the spec does not name.
        for name in ("MPICC", "DB_INCLUDE", "DB_LIBRARY", "MARIADB_INCLUDE", "MARIADB_LIBRARY"):
            settings[f"cmake.define.AFERIR_{name}"] = False
        for name in ("openmpi", "mpich"):
            chosen = f"mpi={name}" in spec
            settings[f"cmake.define.AFERIR_MPICC_{name}"] = chosen and self.compiler_wrapper(name)
        return settings

    def compiler_wrapper(self, name):
        """Path of an MPI's mpicc. As externals, both of Debian are in /usr, with suffixes."""
        folder = self.spec[name].prefix.bin
        suffixed = join_path(folder, f"mpicc.{name}")
        return suffixed if os.path.exists(suffixed) else folder.mpicc

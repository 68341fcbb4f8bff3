# SPDX-License-Identifier: Apache-2.0

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class PyDuckdb(PythonPackage):
    """The database DuckDB as a module of Python, from version 1.4 on, where it has a source archive of
    its own."""

    homepage = "https://duckdb.org"
    pypi = "duckdb/duckdb-@DUCKDB_VERSION@.tar.gz"

    license("MIT")

    version("@DUCKDB_VERSION@", sha256="@DUCKDB@")

    depends_on("c", type="build")
    depends_on("cxx", type="build")

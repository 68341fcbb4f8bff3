# SPDX-License-Identifier: Apache-2.0

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class PyDuckdb(PythonPackage):
    """The database DuckDB as a Python module. Since 1.4 it has a source archive of its own."""

    homepage = "https://duckdb.org"
    pypi = "duckdb/duckdb-1.5.2.tar.gz"

    license("MIT")

    version("1.5.2", sha256="638da0d5102b6cb6f7d47f83d0600708ac1d3cb46c5e9aaabc845f9ba4d69246")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.29:", type="build")
    depends_on("ninja", type="build")
    depends_on("python@3.10:", type=("build", "link", "run"))
    depends_on("py-pybind11@2.6:", type="build")
    depends_on("py-scikit-build-core@0.11.4:", type="build")
    depends_on("py-setuptools-scm@8:", type="build")

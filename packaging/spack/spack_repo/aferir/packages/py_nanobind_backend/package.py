# SPDX-License-Identifier: Apache-2.0

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class PyNanobindBackend(PythonPackage):
    """The part of nanobind that is compiled for one version of Python, for modules that keep to the
    stable ABI."""

    homepage = "https://nanobind.readthedocs.io"
    pypi = "nanobind_backend/nanobind_backend-1.0.0.tar.gz"

    license("BSD-3-Clause")

    version("1.0.0", sha256="@NANOBIND_BACKEND@")

    depends_on("cxx", type="build")
    depends_on("python@3.10:", type=("build", "link", "run"))
    depends_on("py-scikit-build-core@0.11:", type="build")

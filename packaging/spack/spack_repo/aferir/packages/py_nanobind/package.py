# SPDX-License-Identifier: Apache-2.0

from spack_repo.builtin.packages.py_nanobind.package import PyNanobind as BuiltinPyNanobind

from spack.package import *


class PyNanobind(BuiltinPyNanobind):
    __doc__ = BuiltinPyNanobind.__doc__

    version("3.1.0", sha256="@NANOBIND@")

"""What pyproject.toml cannot say: the compiled kernel may be missing, and where runbooks go."""

import os
import shutil
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_py import build_py

RUNBOOKS = Path("docs", "runbooks")

KERNEL = Extension(
    "esefiles.pages._kernel",
    ["agent/esefiles/pages/_kernel.c"],
    define_macros=[("Py_LIMITED_API", "0x030B0000")],
    extra_compile_args=["/O2"] if os.name == "nt" else ["-O3"],
    py_limited_api=True,
    optional=True,
)


class BuildPy(build_py):
    """The package, and in it the runbooks, which an editable install reads in docs/."""

    def run(self) -> None:
        """Build the package."""
        super().run()
        if not self.editable_mode:
            shutil.copytree(
                RUNBOOKS, Path(self.build_lib, "esewatch", "_runbooks"), dirs_exist_ok=True
            )


setup(
    ext_modules=[KERNEL],
    cmdclass={"build_py": BuildPy},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)

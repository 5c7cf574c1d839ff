"""Generates the CloudEvent message while the package is built; the rest is in pyproject.toml.

The message comes from the repository's own proto files, so that there is one truth and nothing
generated is committed. An editable install puts the module beside the sources, where git ignores
it; every other build puts it into the wheel only.
"""

import shutil
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from grpc_tools import protoc
from setuptools import Command, setup
from setuptools.command.build import build

HERE = Path(__file__).resolve().parent
PROTOS = HERE.parent.parent / "proto"
MESSAGE = "io/cloudevents/v1/cloudevents.proto"
PACKAGE = "interlock"


class GenerateMessage(Command):
    """A sub-command of `build`, as setuptools defines them."""

    description = "generate the CloudEvent message"
    user_options = ()

    def initialize_options(self) -> None:
        """Leave open what the build command decides; it fills in only what is None."""
        self.build_lib: str | None = None
        self.editable_mode = False

    def finalize_options(self) -> None:
        """Ask the build command where its output goes."""
        self.set_undefined_options("build_py", ("build_lib", "build_lib"))

    def run(self) -> None:
        """Compile the proto file and move what comes out into the package.

        protoc would name the package `io` after the file's folder, which is taken.
        """
        if not (PROTOS / MESSAGE).is_file():
            raise FileNotFoundError(f"{PROTOS / MESSAGE}: build from a checkout of the repository")
        with TemporaryDirectory() as output:
            arguments = [
                "protoc",
                f"-I{PROTOS}",
                f"-I{files('grpc_tools') / '_proto'}",
                f"--python_out={output}",
                f"--pyi_out={output}",
                MESSAGE,
            ]
            if protoc.main(arguments) != 0:
                raise RuntimeError(f"protoc could not compile {MESSAGE}")
            generated = Path(output, MESSAGE).parent
            for target in map(Path, self.get_outputs()):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(generated / target.name, target)

    def get_outputs(self) -> list[str]:
        """Name the files that are generated."""
        root = HERE / "src" if self.editable_mode else Path(self.build_lib or "")
        names = ("cloudevents_pb2.py", "cloudevents_pb2.pyi")
        return [str(root / PACKAGE / name) for name in names]

    def get_source_files(self) -> list[str]:
        """Name what a source distribution must carry: nothing, it is made from a checkout."""
        return []

    def get_output_mapping(self) -> dict[str, str]:
        """Name the files that are only copied: none."""
        return {}


build.sub_commands.append(("generate_message", None))
setup(cmdclass={"generate_message": GenerateMessage})

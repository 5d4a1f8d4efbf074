"""The package: its requirements, its extras, and the wheel."""

import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
from itertools import chain
from pathlib import Path
from shutil import copy, copytree, ignore_patterns

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

import attnviz
from attnviz import importing
from tests.browser.server import ROOT, Server, running

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = {
    name: [each for each in required if not each.startswith("attnviz[")]
    for name, required in PROJECT["optional-dependencies"].items()
}
RANGES = [Requirement(each) for each in chain(PROJECT["dependencies"], *EXTRAS.values())]
PAGES = ["", *(file.stem for file in (ROOT / "pages").glob("*.py") if file.stem != "explore")]


def pins(*files: str) -> dict[str, str]:
    """Return the pinned version of each package."""
    text = "\n".join((ROOT / file).read_text("utf-8") for file in files)
    return {canonicalize_name(name): pin for name, pin in re.findall(r"^([\w-]+)==(\S+)", text, re.MULTILINE)}


def test_each_requirement_is_pinned_once_to_a_version_in_its_range() -> None:
    pinned = pins("requirements.txt", "requirements-ray.txt")
    assert sorted(canonicalize_name(each.name) for each in RANGES) == sorted(pinned)
    assert [each for each in RANGES if pinned[canonicalize_name(each.name)] not in each.specifier] == []


def test_the_extras_in_the_code_equal_the_extras_of_the_package() -> None:
    assert {name: [*required] for name, required in importing.EXTRAS.items()} == {
        name: required for name, required in EXTRAS.items() if name != "model"
    }


def test_the_version_equals_the_one_in_the_citation_file() -> None:
    assert f"\nversion: {attnviz.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def only_with(*packages: str, code: str) -> str:
    """Return the output of code that can import only attnviz and these packages."""
    refusing = (
        "import sys\n"
        "class Refuse:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.split('.')[0] not in {{*sys.stdlib_module_names, 'attnviz', *{packages}}}:\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Refuse())\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", refusing + code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return ran.stdout


def test_given_weights_need_only_numpy(tmp_path: Path) -> None:
    code = (
        "import attnviz, numpy as np\n"
        "trace = attnviz.Trace.from_weights(np.full((2, 3, 5, 5), 0.2), list('abcde'))\n"
        f"trace.save({str(tmp_path / 'trace.npz')!r})\n"
        f"figure = attnviz.show(attnviz.Trace.load({str(tmp_path / 'trace.npz')!r}), layer=1, head=2)\n"
        f"figure.save({str(tmp_path / 'report.html')!r})\n"
        f"figure.save({str(tmp_path / 'picture.svg')!r})\n"
        "print(figure, len(figure._repr_html_()) > 10_000)"
    )
    assert only_with("numpy", code=code) == "<attnviz: Layer 2, head 3 of weights alone> True\n"
    assert (tmp_path / "report.html").stat().st_size > 10_000
    assert (tmp_path / "picture.svg").read_text("utf-8").startswith("<svg")


def test_the_error_without_torch_names_the_extra() -> None:
    code = (
        "import importlib.metadata as metadata, attnviz\n"
        "def version(name): raise metadata.PackageNotFoundError(name)\n"
        "metadata.version = version\n"
        "try: attnviz.trace('The dog slept.')\n"
        "except attnviz.AttnvizError as error: print(error)"
    )
    assert "(extra [torch]) needs torch" in only_with("numpy", code=code)


def test_tracing_needs_only_the_extra_torch_and_the_model() -> None:
    code = (
        "import sys; sys.modules.update(dict.fromkeys(('streamlit', 'plotly', 'cachetools', 'pandas', 'PIL', "
        "'ray'))); import attnviz; print(attnviz.show(attnviz.trace('The dog slept.')))"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout == "<attnviz: Layer 1, head 1 of minilm>\n"


@pytest.mark.everything
def test_the_wheel_alone_serves_all_pages_in_an_empty_folder(tmp_path: Path) -> None:
    python = installed(tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()

    def output(*command: str | Path) -> str:
        return subprocess.run(command, cwd=empty, capture_output=True, text=True, check=True).stdout

    assert output(python.with_name("attnviz"), "--version") == f"attnviz {attnviz.__version__}\n"
    assert "encoder: 6 tokens, 6 layers" in output(python.with_name("attnviz"), "trace", "The dog slept.")
    print_path = "import attnviz; print(attnviz.__file__)"
    assert Path(output(python, "-c", print_path).strip()).is_relative_to(tmp_path)
    home = tmp_path / "home"
    home.mkdir()
    with running(home, (python.with_name("attnviz"), "app"), empty) as server:
        assert [(page, error) for page in PAGES for error in errors(server, page)] == []
        assert server.tracebacks() == []
        assert "URL: http://localhost:" in server.log.read_text("utf-8")  # as set in .streamlit/config.toml
    assert [*empty.iterdir()] == []


def installed(folder: Path) -> Path:
    """Return the path of Python in a new environment with the wheel and the packages of this environment."""
    source = folder / "source"
    for name in ("attnviz", "pages", ".streamlit"):
        copytree(ROOT / name, source / name, ignore=ignore_patterns("__pycache__"))
    for name in ("app.py", "setup.py", "pyproject.toml", "README.md", "LICENSE"):
        copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-deps", "--no-index"]
    subprocess.run([*pip, "wheel", *offline, "--no-build-isolation", "-w", folder, source], check=True)
    venv.create(folder / "env", symlinks=True)
    python = folder / "env" / "bin" / "python"
    [wheel] = folder.glob("*.whl")
    subprocess.run([*pip, "--python", python, "install", *offline, wheel], check=True)
    packages = sysconfig.get_path("purelib", vars={"base": str(folder / "env")})
    (Path(packages) / "theirs.pth").write_text(f"{sysconfig.get_path('purelib')}\n", "utf-8")
    return python


def errors(server: Server, page: str) -> list[str]:
    """Return the error messages of a page when it is opened."""
    found: list[str] = []
    with server.websocket(server.url) as visit:
        visit.send(BackMsg(rerun_script=ClientState(page_name=page)).SerializeToString())
        while True:
            message = ForwardMsg.FromString(visit.recv(120, decode=False))
            if message.WhichOneof("type") == "script_finished":
                return found
            element = message.delta.new_element
            if element.WhichOneof("type") == "exception":
                found.append(element.exception.message)
            if message.WhichOneof("type") == "page_not_found":
                found.append("There is no such page.")

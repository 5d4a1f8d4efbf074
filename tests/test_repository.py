"""Rules for all files of the project: no machine paths, no unsafe calls, pinned requirements."""

import ast
import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path

from attnviz.capture import loading
from attnviz.models import catalogue

ROOT = Path(__file__).parents[1]

TRACKED_HIDDEN = {
    ".ci",
    ".dockerignore",
    ".github",
    ".gitignore",
    ".npmrc",
    ".pre-commit-config.yaml",
    ".streamlit",
}
GENERATED = {"__pycache__", "build", "dist", "node_modules", "test-artifacts"}
BINARY = {".gz", ".npz", ".png", ".safetensors"}


def project_files(folder: Path) -> Iterator[Path]:
    """Yield the project's text files in a folder, except generated and most hidden files."""
    for path in sorted(folder.iterdir()):
        hidden = path.name.startswith(".") and path.name not in TRACKED_HIDDEN
        if hidden or path.name in GENERATED or path.suffix == ".egg-info":
            continue
        if path.is_dir():
            yield from project_files(path)
        elif path.suffix not in BINARY:
            yield path.relative_to(ROOT)


FILES = list(project_files(ROOT))
PYTHON = [path for path in FILES if path.suffix == ".py"]
APP = [path for path in PYTHON if path.parts[0] in {"app.py", "attnviz", "pages"}]
FOR_NODE = {"build.js", "eslint.config.js", "tests"}
FETCHING = {"explore.js", "site.js", "worker.js", "service_worker.js"}
BROWSER = [path for path in FILES if path.suffix in {".js", ".css"} and path.parts[0] not in FOR_NODE]
REQUIREMENTS = [path for path in FILES if re.fullmatch(r"(requirements.*|constraints)\.txt", str(path))]

MACHINE_PATH = re.compile(r"(?<![\w.:/~$-])/(home|root|Users|work|mnt|srv|opt/[a-z]+)/\w")


def unsafe_python(source: str) -> list[str]:
    """Return calls and imports that could execute code from an untrusted file or text."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            roots = {name.split(".")[0] for name in names}
            found += sorted(roots & {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"})
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            arguments = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
            if name == "torch.load":
                found.append("torch.load reads pickles")
            if arguments.get("allow_pickle") == "True":
                found.append(f"{name} allows pickles")
            if arguments.get("unsafe_allow_html", "False") != "False":
                found.append(f"{name} allows HTML")
            if name.endswith(".from_pretrained") and arguments.get("trust_remote_code") != "False":
                found.append(f"{name} without trust_remote_code=False")
            if name.endswith("Model.from_pretrained") and arguments.get("use_safetensors") != "True":
                found.append(f"{name} without use_safetensors=True")
    return found


UNSAFE_IN_BROWSER = re.compile(
    r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|importScripts|XMLHttpRequest)\b"
    r"|\bnew Function\b|\bfetch\(|\bimport\((?!\"\.{1,2}/)|@import"
    r"|^\s*(import\b|export\b.*\bfrom\b).*['\"`](?!\.{1,2}/).*['\"`];$"  # except our own files
    r"|['\"`(]\s*(https?:)?//(?!www\.w3\.org/)\w|url\((?!['\"]?(data:|#))",
    re.MULTILINE,
)


def test_no_file_contains_a_machine_path() -> None:
    assert [path for path in FILES if MACHINE_PATH.search((ROOT / path).read_text("utf-8"))] == []


def test_the_app_has_no_unsafe_calls() -> None:
    found = {path: unsafe_python((ROOT / path).read_text("utf-8")) for path in APP}
    assert {path: calls for path, calls in found.items() if calls} == {}


def test_the_widgets_write_no_html_and_contact_no_other_server() -> None:
    texts = {path: (ROOT / path).read_text("utf-8") for path in BROWSER}
    for path in BROWSER:  # the static site fetches its own files; its policy allows no others
        if path.parts[0] == "attnviz" and path.name in FETCHING:
            texts[path] = texts[path].replace("fetch(", "")
    assert "connect-src 'self';" in (ROOT / "attnviz" / "site" / "index.html").read_text("utf-8")
    assert [path for path, text in texts.items() if UNSAFE_IN_BROWSER.search(text)] == []


def unpinned(line: str) -> bool:
    """Return whether a line of a requirements file has a requirement without an exact version."""
    line = line.partition("#")[0].strip()
    return bool(line) and not re.fullmatch(r"[A-Za-z][\w.-]*==\d[\w.]*", line)


def test_every_requirement_is_pinned() -> None:
    lines = {path: (ROOT / path).read_text("utf-8").splitlines() for path in REQUIREMENTS}
    assert [(path, line) for path in REQUIREMENTS for line in lines[path] if unpinned(line)] == []


def test_every_npm_package_is_pinned_and_the_lock_file_names_no_server() -> None:
    packages = json.loads((ROOT / "package.json").read_text("utf-8"))["devDependencies"]
    assert [version for version in packages.values() if not re.fullmatch(r"\d+\.\d+\.\d+", version)] == []
    assert '"resolved"' not in (ROOT / "package-lock.json").read_text("utf-8")


def test_the_imports_in_the_dockerfile_exist() -> None:
    """The tests do not build the image, so only this test detects a renamed module."""
    [code] = re.findall(r'python -c "(from .*)"$', (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    imports = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)]
    names = [(node.module or "", each.name) for node in imports for each in node.names]
    assert ("attnviz.capture", "loading") in names
    for module, name in names:
        assert importlib.util.find_spec(f"{module}.{name}"), (module, name)
    assert callable(loading.load)
    assert callable(catalogue.names)

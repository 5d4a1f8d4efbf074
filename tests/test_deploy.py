"""What is served to others: it installs what was tested, and the files for it name what there is."""

import re
from pathlib import Path

import pytest

from tests.test_packaging import pins

ROOT = Path(__file__).parents[1]
DEPLOY = [ROOT / "Dockerfile", ROOT / "compose.yaml"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_the_image_installs_the_tested_versions_and_nothing_without_a_hash() -> None:
    locked = pins("requirements.lock")
    torch = locked.pop("torch")
    asked = pins("requirements.txt")
    assert torch == f"{asked.pop('torch')}+cpu"
    assert asked.items() <= locked.items()
    assert locked.items() <= (asked | pins("constraints.txt")).items()
    for block in re.split(r"\n(?=\S)", (ROOT / "requirements.lock").read_text("utf-8"))[1:]:
        assert re.fullmatch(r"\S+==\S+( \\\n    --hash=sha256:[0-9a-f]{64})+\n?", block), block
    assert "--require-hashes" in (ROOT / "Dockerfile").read_text("utf-8")


def test_what_others_made_is_named_by_its_digest() -> None:
    text = "\n".join(path.read_text("utf-8") for path in DEPLOY)
    images = re.findall(r"^(?:FROM|\s*(?:- )?image:) (\S+)", text, re.MULTILINE)
    others = [image for image in images if image != "attnviz"]
    assert len(others) == 3  # Python, HAProxy and Valkey
    assert [image for image in others if not re.fullmatch(r"\S+@sha256:[0-9a-f]{64}", image)] == []
    uses = re.findall(r"uses: (\S+)", "\n".join(path.read_text("utf-8") for path in WORKFLOWS))
    assert uses
    assert [action for action in uses if not re.fullmatch(r"\S+@[0-9a-f]{40}", action)] == []


@pytest.mark.parametrize("path", [*DEPLOY, ROOT / "docs" / "operating.md"], ids=lambda path: path.name)
def test_the_settings_and_probes_named_there_exist(path: Path) -> None:
    code = "\n".join(file.read_text("utf-8") for file in (ROOT / "attnviz").rglob("*.py"))
    text = path.read_text("utf-8")
    assert [name for name in set(re.findall(r"ATTNVIZ_\w+", text)) if f'"{name}"' not in code] == []
    probes = set(re.findall(r"path: (/\w+)|httpchk GET (/\w+)", text))
    assert probes <= {("/ready", ""), ("/_stcore", ""), ("", "/ready")}

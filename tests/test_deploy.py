"""The container image installs the tested versions, and the deployment files name existing settings."""

import re
from pathlib import Path

import pytest

from tests.test_packaging import pins

ROOT = Path(__file__).parents[1]
DEPLOY = [ROOT / "Dockerfile", ROOT / "compose.yaml"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_the_image_installs_only_the_tested_versions_with_hashes() -> None:
    locked = pins("requirements.lock")
    torch = locked.pop("torch")
    tested = pins("requirements.txt")
    assert torch == f"{tested.pop('torch')}+cpu"
    assert tested.items() <= locked.items()
    assert locked.items() <= (tested | pins("constraints.txt")).items()
    for block in re.split(r"\n(?=\S)", (ROOT / "requirements.lock").read_text("utf-8"))[1:]:
        assert re.fullmatch(r"\S+==\S+( \\\n    --hash=sha256:[0-9a-f]{64})+\n?", block), block
    assert "--require-hashes" in (ROOT / "Dockerfile").read_text("utf-8")


def test_third_party_images_and_actions_are_pinned_by_digest() -> None:
    text = "\n".join(path.read_text("utf-8") for path in DEPLOY)
    images = re.findall(r"^(?:FROM|\s*(?:- )?image:) (\S+)", text, re.MULTILINE)
    others = [image for image in images if image != "attnviz"]
    assert len(others) == 3  # Python, HAProxy and Valkey
    assert [image for image in others if not re.fullmatch(r"\S+@sha256:[0-9a-f]{64}", image)] == []
    uses = re.findall(r"uses: (\S+)", "\n".join(path.read_text("utf-8") for path in WORKFLOWS))
    assert uses
    assert [action for action in uses if not re.fullmatch(r"\S+@[0-9a-f]{40}", action)] == []


@pytest.mark.parametrize("path", [*DEPLOY, ROOT / "docs" / "operating.md"], ids=lambda path: path.name)
def test_the_named_settings_and_probes_exist(path: Path) -> None:
    code = "\n".join(file.read_text("utf-8") for file in (ROOT / "attnviz").rglob("*.py"))
    text = path.read_text("utf-8")
    assert [name for name in set(re.findall(r"ATTNVIZ_\w+", text)) if f'"{name}"' not in code] == []
    probes = set(re.findall(r"path: (/\w+)|httpchk GET (/\w+)", text))
    assert probes <= {("/ready", ""), ("/_stcore", ""), ("", "/ready")}

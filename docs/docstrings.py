"""How the documentation reads docstrings: examples are code, and `attnviz.trace` is the function."""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^>>> .*\n?(?:.+\n?)*", re.MULTILINE)


class Docstrings(griffe.Extension):
    """Is told of each object that griffe reads, and of the package in the end."""

    def __init__(self) -> None:
        self.functions: dict[str, griffe.Function] = {}

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Fence the examples, which otherwise count as Markdown."""
        if obj.docstring:
            fenced = EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", obj.docstring.value)
            obj.docstring.value = fenced

    def on_function_instance(self, *, func: griffe.Function, **_: Any) -> None:
        """Keep each function, since a submodule of its name will take its place."""
        self.functions[func.path] = func

    def on_package(self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **_: Any) -> None:
        """Where a function and a submodule have one name, give it to the function, as Python does here."""
        loader.resolve_aliases(external=False)  # other names are found by way of the submodules
        for package in (pkg, pkg["analysis"]):
            for name, member in list(package.members.items()):
                if name in (package.exports or ()) and member.is_module:
                    own = self.functions.get(f"{package.path}.{name}")
                    package.members[name] = own or griffe.Alias(name, member[name], parent=package)

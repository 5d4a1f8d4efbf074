"""griffe extension: fence the examples, and document functions that share a name with a module."""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^>>> .*\n?(?:.+\n?)*", re.MULTILINE)


class Docstrings(griffe.Extension):
    """Extension with methods that griffe calls for each object, and for the package at the end."""

    def __init__(self) -> None:
        self.functions: dict[str, griffe.Function] = {}

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Fence the examples, which would otherwise be read as Markdown."""
        if obj.docstring:
            fenced = EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", obj.docstring.value)
            obj.docstring.value = fenced

    def on_function_instance(self, *, func: griffe.Function, **_: Any) -> None:
        """Store each function, because a submodule of the same name will replace it."""
        self.functions[func.path] = func

    def on_package(self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **_: Any) -> None:
        """Let names shared by a function and a submodule refer to the function, as in Python."""
        loader.resolve_aliases(external=False)  # before the loop replaces modules
        for package in (pkg, pkg["analysis"]):
            for name, member in list(package.members.items()):
                if name in (package.exports or ()) and member.is_module:
                    own = self.functions.get(f"{package.path}.{name}")
                    package.members[name] = own or griffe.Alias(name, member[name], parent=package)

"""What pyproject.toml cannot say: in the wheel, app.py, pages/ and .streamlit/ lie in attnviz/served."""

from setuptools import find_namespace_packages, setup

setup(
    script_name="setup.py",  # which is then no module of the package
    packages=[*find_namespace_packages(include=["attnviz*"]), "attnviz.served", "attnviz.served.pages"],
    package_dir={"attnviz.served": ".", "attnviz.served.pages": "pages"},
)

"""Put app.py, pages/ and .streamlit/ into the wheel as attnviz/served; pyproject.toml cannot do this."""

from setuptools import find_namespace_packages, setup

setup(
    script_name="setup.py",  # so that it is not packaged as a module
    packages=[*find_namespace_packages(include=["attnviz*"]), "attnviz.served", "attnviz.served.pages"],
    package_dir={"attnviz.served": ".", "attnviz.served.pages": "pages"},
)

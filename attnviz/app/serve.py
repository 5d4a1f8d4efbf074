"""`python -m attnviz.app.serve run app.py` is `streamlit run app.py`, corrected before anybody comes."""

from streamlit.web import cli

from attnviz.app import patches


def main() -> None:
    """What `streamlit` does with the arguments of the command line."""
    patches.apply()
    cli.main(prog_name="streamlit")


if __name__ == "__main__":
    main()

"""What can go wrong between attnviz and the Hugging Face hub, each in a sentence that says what helps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from attnviz.errors import AttnvizError, ModelNotReachable, UnknownModel, quoted

_LOG_IN = "log in on this machine with “hf auth login”"


@contextmanager
def in_our_words(name: str) -> Iterator[None]:
    """What huggingface_hub raises, as errors that a visitor can read.

    Args:
        name: of the model that is asked for.

    Raises:
        UnknownModel: the hub has no such model or revision, or shows it to its owner alone.
        ModelNotReachable: there is no network, or no permission, or the hub fails.
    """
    import httpx2
    from huggingface_hub import errors

    model = quoted(name)
    try:
        yield
    except AttnvizError:
        raise
    except errors.GatedRepoError as error:
        raise ModelNotReachable(
            f"{model} is given only to those who have agreed to its conditions. Agree to them on its page on "
            f"the hub, {_LOG_IN}, and try again."
        ) from error
    except errors.RevisionNotFoundError as error:
        raise UnknownModel(f"The hub has this model, but no such revision of it: {model}.") from error
    except errors.RepositoryNotFoundError as error:
        raise UnknownModel(
            f"The hub has no model {model}, or it is private. Check the spelling; for a private one, "
            f"{_LOG_IN}."
        ) from error
    except errors.RemoteEntryNotFoundError as error:
        raise ModelNotReachable(f"A file of {model} has just gone from the hub. Try again.") from error
    except errors.HfHubHTTPError as error:
        raise ModelNotReachable(_refused(model, error.response.status_code)) from error
    except errors.OfflineModeIsEnabled as error:
        raise ModelNotReachable(
            f"{model} is not on this machine, and attnviz is told to stay offline (HF_HUB_OFFLINE). "
            "Download it elsewhere and open its folder, or start attnviz without that setting."
        ) from error
    except (httpx2.HTTPError, errors.LocalEntryNotFoundError) as error:
        raise ModelNotReachable(
            f"The hub cannot be reached, so {model} cannot be fetched. Check the network. Without one, "
            "attnviz shows what is on this machine: its own models, folders, and what was downloaded before."
        ) from error
    except (errors.FileMetadataError, json.JSONDecodeError) as error:
        raise ModelNotReachable(
            f"Something else answers in the hub's place, so {model} cannot be fetched. Perhaps this network "
            "wants you to log in first."
        ) from error
    except OSError as error:
        raise ModelNotReachable(
            f"{model} cannot be downloaded: {(error.strerror or str(error)).rstrip('.')}. Its files go to "
            "the folder that HF_HOME names; there must be room, and attnviz must be allowed to write there."
        ) from error


def _refused(model: str, status: int) -> str:
    if status in {401, 403}:
        return f"The hub does not give {model} to this machine. With a token that may read it, {_LOG_IN}."
    if status == 429:
        return f"The hub was asked too often, and does not give {model} now. Wait some minutes."
    return f"The hub fails (error {status}), so {model} cannot be fetched. Try again later."

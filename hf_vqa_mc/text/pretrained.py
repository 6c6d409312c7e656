"""Loading text models of transformers."""

from typing import Any

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.hub_folder import first_line


def load_text_model(name: str, model_class: str, option: str, kind: str, **options: Any) -> tuple[Any, Any]:  # noqa: ANN401
    """A tokenizer and a model in evaluation mode.

    Args:
        name: folder or name on the Hub; weights are safetensors and no code is executed.
        model_class: name of a class of transformers, such as ``AutoModel``.
        option: the user's option that gave the name, for errors.
        kind: what is expected, for errors: "text encoder".
        options: of the model's ``from_pretrained``.

    Raises:
        InputError: there is no such model.
        ConnectionError: the Hub cannot be reached.
    """
    import transformers
    from transformers.utils import logging as untyped

    logging: Any = untyped
    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        tokenizers: Any = transformers.AutoTokenizer
        tokenizer = tokenizers.from_pretrained(name)
        model = getattr(transformers, model_class).from_pretrained(name, use_safetensors=True, **options)
    except (OSError, ValueError, KeyError) as error:
        lost = "connect" in str(error).lower() or "offline" in str(error).lower()
        raise (ConnectionError if lost else InputError)(
            f"{option} {name}: {first_line(error)}; expected a folder or a name on the Hub of a {kind} with "
            "safetensors weights"
        ) from error
    finally:
        if bars:
            logging.enable_progress_bar()
    return tokenizer, model.eval()

"""``python -m hf_vqa_mc`` is ``vqa-mc``; so ``accelerate launch -m hf_vqa_mc`` can start it."""

from hf_vqa_mc.cli import main

if __name__ == "__main__":
    main()

"""Loading script for datasets 3, which runs such files; datasets 4 and later do not (see ``hf_vqa_mc.register``).

Put it into a folder ``vqa_mc`` and type::

    load_dataset("vqa_mc", "cocoqa_iou_qou", data_dir=RAW_FILES, word_vectors=FILE, trust_remote_code=True)

It builds the rows from the publishers' files with the package hf_vqa_mc. That needs datasets 4.5 or later for all its
other work, so install it and put datasets 3 first on the path, in a folder of its own::

    pip install hf_vqa_mc
    pip install --no-deps --target datasets3 datasets==3.6.0 dill==0.3.8 multiprocess==0.70.16 fsspec==2025.3.0
    PYTHONPATH=datasets3 python your_program.py
"""

# datasets looks for what a script imports line by line: one import a line.
import hf_vqa_mc.dataset.builder


class VqaMc(hf_vqa_mc.dataset.builder.VqaMc):
    """The package's builder under the name that datasets looks for in this file."""

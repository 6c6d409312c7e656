"""Loading script for datasets 3, which runs such files; datasets 4 and later do not (see ``hf_vqa_mc.register``).

Put it into a folder ``vqa_mc`` and type::

    load_dataset("vqa_mc", "cocoqa_iou_qou", data_dir=RAW_FILES, word_vectors=FILE, trust_remote_code=True)

It builds the rows from the publishers' files with the package hf_vqa_mc, which must be installed.
"""

# datasets looks for what a script imports line by line: one import a line.
import hf_vqa_mc.dataset.builder


class VqaMc(hf_vqa_mc.dataset.builder.VqaMc):
    """The package's builder under the name that datasets looks for in this file."""

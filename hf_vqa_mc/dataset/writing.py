"""Write a benchmark with new choices in the format in which it was read: a file of the same type, or a folder."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from hf_vqa_mc.data.benchmark import Benchmark
from hf_vqa_mc.data.file_writer import file_content
from hf_vqa_mc.data.files import file_form
from hf_vqa_mc.data.row_hashes import RowHashes
from hf_vqa_mc.dataset.folder_writer import REMEDIED, check_folder_config, staged_folder
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.io import outputs
from hf_vqa_mc.io.atomic import Staged, new_file, published
from hf_vqa_mc.io.outputs import check_output_file, check_outside


def check_output(dataset: object, output: Path, overwrite: bool = False) -> None:
    """Raise InputError unless the benchmark ``dataset``, as for `read_benchmark`, can be written to an output."""
    source = Path(dataset) if isinstance(dataset, str | Path) else None
    if source is None or not source.is_file():
        if source is not None:
            check_outside(output, "output", [source])
        outputs.check_output(output, REMEDIED, overwrite)
        return
    form = file_form(source)
    if file_form(output) != form:
        raise InputError(f"output {output}: expected a .{form} file, as {source}; rename the output")
    check_output_file(output, "output", [source], overwrite)


def check_config(benchmark: Benchmark, output: Path, config: str | None, overwrite: bool = False) -> None:
    """Raise InputError unless the benchmark can be written to an output as a config of this name."""
    if not _is_file(benchmark):
        check_folder_config(benchmark, output, config, overwrite)


@contextmanager
def staged_benchmark(
    benchmark: Benchmark,
    tables: Mapping[str, pa.Table],
    output: Path,
    note: str = "",
    config: str | None = None,
    overwrite: bool = False,
    pruned: bool = False,
    hashes: Mapping[str, RowHashes] | None = None,
) -> Iterator[tuple[Staged, list[Path]]]:
    """Write splits, for `publish_together`; ``load_dataset`` and ``read_benchmark`` read them as the original.

    A benchmark of one file is written as a file of the same type, without ``note``. Others are written as a folder
    with README.md and, in a folder of the config's name, parquet files; other configs there are kept.

    Args:
        benchmark: as read.
        tables: columns by split name, such as those of ``Benchmark.with_choices``.
        output: the file or folder.
        note: paragraph for README.md.
        config: name of the written config; by default the benchmark's.
        overwrite: replace an existing file, changed files in the folder, and the same config of another benchmark.
        pruned: whether rows were removed and the choices kept, for README.md.
        hashes: those of the rows' questions, choices and labels, by split, for README.md.

    Returns:
        The new file or folder, and the paths of its files.
    """
    if not tables:
        raise InputError(f"{benchmark.dataset}: there are no splits to write")
    for name in tables:
        if name not in benchmark.splits:
            raise unknown_name(f"split of {benchmark.dataset}", name, benchmark.splits)
    check_output(benchmark.path, output, overwrite)
    if benchmark.path is not None and _is_file(benchmark):
        content = file_content(benchmark.path, pa.concat_tables(tables.values(), promote_options="default"), output)
        with new_file(output, content, overwrite) as new:
            yield new, [output]
    else:
        with staged_folder(benchmark, tables, output, note, config, overwrite, pruned, hashes or {}) as found:
            yield found


write_benchmark = published(staged_benchmark)
"""Write a benchmark as `staged_benchmark` does, publish it, and return its files."""


def _is_file(benchmark: Benchmark) -> bool:
    return benchmark.path is not None and benchmark.path.is_file()

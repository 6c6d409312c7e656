"""No modules and no packages import each other in a circle, imports inside of functions included."""

from pathlib import Path

import grimp
import networkx
import pytest

import hf_vqa_mc


def circles(edges):
    return [
        sorted(found) for found in networkx.strongly_connected_components(networkx.DiGraph(edges)) if len(found) > 1
    ]


@pytest.fixture(scope="module", params=[False, True], ids=["all imports", "without TYPE_CHECKING"])
def imports(request):
    graph = grimp.build_graph("hf_vqa_mc", cache_dir=None, exclude_type_checking_imports=request.param)
    edges = [(one, other) for one in graph.modules for other in graph.find_modules_directly_imported_by(one)]
    return request.param, edges


def test_there_are_at_most_20_packages():
    assert len({path.parent for path in Path(hf_vqa_mc.__file__).parent.glob("*/__init__.py")}) <= 20


def package_of(module):
    return ".".join(module.split(".")[:2])


def test_packages_import_each_other_one_way(imports):
    """Also in annotations; the root package, which exports what the others have, is left out."""
    pairs = {(package_of(one), package_of(other)) for one, other in imports[1]}
    assert circles((one, other) for one, other in pairs if one != other and "hf_vqa_mc" not in (one, other)) == []


def test_modules_import_each_other_one_way(imports):
    """Imports under TYPE_CHECKING may form one: a class and its listing annotate each other (`Source`, `SOURCES`)."""
    without_annotations, edges = imports
    if without_annotations:
        assert circles(edges) == []

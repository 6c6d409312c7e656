"""Prefetching in threads."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Done = TypeVar("Done")


def ahead(
    function: Callable[[Item], Done], items: Iterable[Item], size: int, workers: int = 1
) -> Generator[Done, None, None]:
    """``function`` of each item, in order; at most ``size`` results are in progress or waiting."""
    waiting: deque[Future[Done]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) >= size:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()

"""Image files of strangers: which of them are decoded at all."""

FORMATS = ("AVIF", "BMP", "GIF", "JPEG", "MPO", "PNG", "PPM", "TIFF", "WEBP")
"""Those that are decoded in the process; PIL would start another program for, say, EPS."""


def known_formats() -> list[str]:
    """Those of ``FORMATS`` that this PIL knows, for ``Image.open(..., formats=...)``."""
    from PIL import Image

    Image.init()
    return [name for name in FORMATS if name in Image.OPEN]

"""Files: atomic writers, streaming readers, archives, downloads, progress; independent of VQA."""

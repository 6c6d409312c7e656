"""Files: atomic writers, streaming readers, archives, downloads, progress; knows nothing of VQA."""

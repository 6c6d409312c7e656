"""Making decoys: similar-question search, the three procedures, the filters and what stands in for missing ones."""

"""Image features: what a backbone makes of each image, computed once and read from the disk while training."""

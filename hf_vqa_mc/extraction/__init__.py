"""Image features: outputs of a vision backbone, computed once per image and read from disk during training."""

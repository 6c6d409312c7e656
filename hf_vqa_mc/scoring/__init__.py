"""Every scoring scheme as a plain function; knows nothing of torch, datasets or the network."""

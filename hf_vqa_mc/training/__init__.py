"""Training the papers' models on a dataset of multiple-choice questions, and answering with a trained one."""

"""Pages for people: the audit's report, sample questions, and the picture on a dataset's card."""

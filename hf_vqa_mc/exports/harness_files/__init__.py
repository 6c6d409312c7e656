"""Programs and templates that are written into exports; programs are copied as they are, without any data."""

"""Media: files, pages, page sets, log records and log data sets."""

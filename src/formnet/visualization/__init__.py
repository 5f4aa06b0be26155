"""Images and HTML reports: extracted fields, graphs and attention drawn on pages, and plots."""

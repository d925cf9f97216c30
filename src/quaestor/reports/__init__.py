"""What the accounts show: named reports as text, CSV, JSON and HTML, and one HTML file with all the pictures.

The queries run in `quaestor.pipeline.report_queries`; an Arrow table is what crosses the border. Nothing here needs
Spark, Java or a network.
"""

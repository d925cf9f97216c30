"""SMF dumps to tables, summaries and answers, on Spark. The only room that imports pyspark."""

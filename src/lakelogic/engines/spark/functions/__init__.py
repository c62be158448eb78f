"""The functions of the catalogue as Spark SQL text, by group."""

"""The Java process behind Spark: what it needs on a machine, how it starts, how it is told that it died."""

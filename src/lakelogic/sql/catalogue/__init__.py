"""The catalogue by subject: each module holds the rows of its functions and how they are written in SQL."""

"""SELECT to nodes: from, joins, groups, windows, set operations and subqueries; one compiler for all of them."""

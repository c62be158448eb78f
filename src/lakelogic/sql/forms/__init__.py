"""Special forms of the grammar by subject: syntax that is not `name(arguments)`, bound to calls of the catalogue."""

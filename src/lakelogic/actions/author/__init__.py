"""Write contracts: draft, validate, explain, compare, verify."""

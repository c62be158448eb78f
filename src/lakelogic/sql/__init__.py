"""What contract SQL means: types, the catalogue of functions, binding; no engine."""

"""From YAML to one frozen document: tree, checks, inheritance, placeholders."""

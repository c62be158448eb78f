"""What will happen to rows: a contract compiled once into nodes that every engine lowers."""

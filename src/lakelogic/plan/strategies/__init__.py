"""How good rows meet their table, as queries over the batch and the table; every engine and format shares them."""

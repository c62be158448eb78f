"""Files of this machine and objects of a store: listed and read; files written anew without touching what is there."""

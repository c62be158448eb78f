"""Files of this machine: listed, read, and written anew without touching what is there."""

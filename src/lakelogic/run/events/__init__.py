"""What happens in a run: types of events, who hands them to listeners, and the lines that are kept of them."""

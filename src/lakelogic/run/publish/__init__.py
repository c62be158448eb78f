"""From staged to visible: accounts, measures, gates, the staged record, and the commits of both sides."""

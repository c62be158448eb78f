"""What the engines that are spoken to in SQL share, over a small dialect: how each writes names, constants, casts."""

"""What the engines that are spoken to in SQL share."""

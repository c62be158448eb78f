"""What the steps of the sequence do for every input: open, prepare, stage, weigh."""

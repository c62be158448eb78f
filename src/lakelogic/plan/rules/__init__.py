"""Row rules and dataset rules to verdicts, reasons and measures."""

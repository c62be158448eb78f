"""What may be shown of rows: values that are masked further down, or above by now, stay hidden."""

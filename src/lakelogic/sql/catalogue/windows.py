"""Functions of a row among others: rank, lag, first value; aggregates can stand over a window too."""

from __future__ import annotations

from lakelogic.sql.catalogue.row import Function, window

FUNCTIONS: tuple[Function, ...] = (
    window("row_number", "row_number() OVER (…)", "1, 2, 3… in the order of the window. Rows that the order leaves equal are numbered by the whole row.", ("row_number() OVER (PARTITION BY g ORDER BY n DESC)", [3, 2, 1, 2, 1])),
    window("rank", "rank() OVER (…)", "1 and the number of rows before; equal rows have the same.", ("rank() OVER (ORDER BY x)", [2, 1, 5, 2, 4])),
    window("dense_rank", "dense_rank() OVER (…)", "1 and the number of different rows before.", ("dense_rank() OVER (ORDER BY x)", [2, 1, 4, 2, 3])),
    window("percent_rank", "percent_rank() OVER (…)", "(rank - 1) / (rows - 1), 0 for a single row.", ("percent_rank() OVER (ORDER BY x)", [0.25, 0.0, 1.0, 0.25, 0.75])),
    window("cume_dist", "cume_dist() OVER (…)", "The share of rows that come before or are equal.", ("cume_dist() OVER (PARTITION BY g ORDER BY n DESC)", [1.0, 2 / 3, 1 / 3, 1.0, 0.5])),
    window("ntile", "ntile(k) OVER (…)", "The number of the part when the rows are parted into k, as even as they can be, the first ones larger.", ("ntile(2) OVER (ORDER BY n)", [1, 1, 1, 2, 2])),
    window("lag", "lag(x, k, default) OVER (…)", "The value k rows before (1 by default); the default (or NULL) where there is no such row.", ("lag(s) OVER (ORDER BY n)", [None, "pear", "apple", None, "fig"]), ("lag(x, 2, 0) OVER (PARTITION BY g ORDER BY n)", [0, 0, 3, 0, 0])),
    window("lead", "lead(x, k, default) OVER (…)", "The value k rows after.", ("lead(s) OVER (ORDER BY n)", ["apple", None, "fig", "apple", None])),
    window("lag_present", "lag(x, k, default) IGNORE NULLS OVER (…)", "The k-th value before that is not NULL.", ("lag(s) IGNORE NULLS OVER (ORDER BY n)", [None, "pear", "apple", "apple", "fig"])),
    window("lead_present", "lead(x, k, default) IGNORE NULLS OVER (…)", "The k-th value after that is not NULL.", ("lead(x) IGNORE NULLS OVER (ORDER BY n)", [1, 3, 3, 7, None])),
    window("first_value", "first_value(x) OVER (…)", "The value of the first row of the frame, NULL or not.", ("first_value(s) OVER (PARTITION BY g ORDER BY n DESC)", [None, None, None, "apple", "apple"])),
    window("last_value", "last_value(x) OVER (…)", "The value of the last row of the frame. Without a frame that is the last of the equal rows.", ("last_value(s) OVER (ORDER BY n)", ["pear", "apple", None, "fig", "apple"]), ("last_value(s) OVER (PARTITION BY g ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)", [None, None, None, "apple", "apple"])),
    window("nth_value", "nth_value(x, k) OVER (…)", "The value of the k-th row of the frame; NULL where the frame is shorter.", ("nth_value(s, 2) OVER (ORDER BY n)", [None, "apple", "apple", "apple", "apple"])),
    window("first_value_present", "first_value(x) IGNORE NULLS OVER (…)", "The first value of the frame that is not NULL.", ("first_value(x) IGNORE NULLS OVER (PARTITION BY g ORDER BY n DESC)", [1, 1, None, 7, 7])),
    window("last_value_present", "last_value(x) IGNORE NULLS OVER (…)", "The last value of the frame that is not NULL.", ("last_value(s) IGNORE NULLS OVER (ORDER BY n)", ["pear", "apple", "apple", "fig", "apple"])),
    window("nth_value_present", "nth_value(x, k) IGNORE NULLS OVER (…)", "The k-th value of the frame that is not NULL.", ("nth_value(x, 3) IGNORE NULLS OVER (ORDER BY n)", [None, None, None, 3, 3])),
)  # fmt: skip

# SQL name → canonical function, least and most arguments
WINDOWS: dict[str, tuple[str, int, int]] = {
    "row_number": ("row_number", 0, 0),
    "rank": ("rank", 0, 0),
    "dense_rank": ("dense_rank", 0, 0),
    "percent_rank": ("percent_rank", 0, 0),
    "cume_dist": ("cume_dist", 0, 0),
    "ntile": ("ntile", 1, 1),
    "lag": ("lag", 1, 3),
    "lead": ("lead", 1, 3),
    "first_value": ("first_value", 1, 1),
    "last_value": ("last_value", 1, 1),
    "first": ("first_value", 1, 1),
    "last": ("last_value", 1, 1),
    "nth_value": ("nth_value", 2, 2),
}

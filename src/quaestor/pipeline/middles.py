"""Where an interval lies: where its middle does.

A record is written when its interval ends, so the hour up to eleven would by its record's time be told as the hour from
eleven, and the last one of a day as work of the next day.

Rules
  L1  An interval, with all that was counted in it, belongs to the hour, the day or the range of time that its middle
      lies in. Reports by hour, plans and advice all ask here, or in `middle_columns` for the same in Spark.
  L2  Half its length is taken to the half minute: records are some hundredths of a second late, and what lies half in
      one hour and half in the next belongs to the later one, in every interval alike.
  L3  A record whose interval is not known lies where it was written.
  L4  Summary tables say when their records were written, as MP1B has it: they are left as they are, and the middle is
      found when they are read. A row stands for intervals that end one after the other from its TIME on.

Called by the advisor's views, by its command and by middle_columns.  Calls nothing, knows no Spark.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

HALF_MINUTE_S = 30.0


def middles(ends: NDArray[Any], seconds: NDArray[np.float64]) -> NDArray[Any]:
    """When the middles of intervals were, from the times of their records and their lengths (L1 to L3)."""
    half_minutes = np.floor(np.nan_to_num(seconds) / 2 / HALF_MINUTE_S + 0.5)  # L2
    made: NDArray[Any] = ends - (half_minutes * HALF_MINUTE_S).astype("timedelta64[s]")
    return made

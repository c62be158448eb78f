"""A daily pass by layers on Airflow. Put it into the DAG folder, with lakelogic_task.py beside it."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from airflow.exceptions import AirflowFailException
from airflow.sdk import DAG, task
from lakelogic_task import LAYERS, LookAtIt, run_pass


@task(retries=3, retry_delay=timedelta(minutes=5), retry_exponential_backoff=True)
def drive(layer: str) -> None:
    """One layer; what no retry can mend fails at once."""
    try:
        run_pass([layer])
    except LookAtIt as error:
        raise AirflowFailException(str(error)) from error


with DAG(
    dag_id="lakelogic",
    schedule="0 3 * * *",
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),  # noqa: UP017 - Airflow still runs on older Pythons
    catchup=False,  # the ledger knows what was read; days that were missed come with the next pass
    max_active_runs=1,
) as dag:
    before = None
    for layer in LAYERS:
        done = drive.override(task_id=layer)(layer)
        if before is not None:
            before >> done
        before = done

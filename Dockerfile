# syntax=docker/dockerfile:1
# The service, its worker and the command line in one image: DuckDB and Polars, no Java. Built in one stage, run in another.
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src src
COPY examples examples
RUN python -m venv /venv \
    && /venv/bin/pip install --no-cache-dir ".[api,duckdb,polars,postgres]"

FROM python:3.13-slim
# A number, so that whoever runs it can see that it is not root.
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin lakelogic \
    && install --directory --owner=10001 --group=10001 /data
COPY --from=build /venv /venv
ENV PATH="/venv/bin:$PATH" \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    LAKELOGIC_ENGINE=duckdb \
    LAKELOGIC_WAREHOUSE=/data/warehouse
USER 10001
WORKDIR /estate
VOLUME /data
EXPOSE 8096
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8096/health', timeout=4)"]
ENTRYPOINT ["lakelogic"]
CMD ["serve", "contracts", "--host", "0.0.0.0", "--workers", "0"]

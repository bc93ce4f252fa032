# A service that scores with a model, `luce serve`; docs/serving.md says how to run it.
#
#   docker build --tag luce-serve .
#   docker run --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges --publish 127.0.0.1:8000:8000 \
#       --volume "$PWD/models:/models:ro" --env LUCE_SERVE_TOKEN luce-serve
FROM python:3.11-slim
ARG ROOT=/opt/luce
WORKDIR ${ROOT}/source
COPY pyproject.toml constraints.txt README.md LICENSE NOTICE ${ROOT}/source/
COPY src ${ROOT}/source/src/
RUN python -m venv ${ROOT}/venv && ${ROOT}/venv/bin/pip install --no-cache-dir --constraint constraints.txt ".[serve]"
ENV PATH=${ROOT}/venv/bin:${PATH}
# Compiled for the processor of the build; on another kind it is compiled again when the container starts. A cache that
# is read-only is copied to /tmp.
ENV NUMBA_CACHE_DIR=${ROOT}/kernels PYTHONDONTWRITEBYTECODE=1
RUN luce warm
USER 10001:10001
WORKDIR /
EXPOSE 8000
HEALTHCHECK --start-period=60s --interval=10s CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/v2/health/ready', timeout=3)"]
ENTRYPOINT ["luce", "serve"]
# Inside the container every address is listened on; what --publish opens, a token should protect.
CMD ["/models/model.luce", "--host", "0.0.0.0"]

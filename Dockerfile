# The page with its model inside; at run time it needs no network, no writable disk and no privilege.
#   docker build -t attnviz .
#   docker run --read-only --tmpfs /tmp --cap-drop ALL -p 8501:8501 attnviz
# With models of your own, from which visitors choose (without ATTNVIZ_MODELS: from those inside):
#   docker run … -v "$PWD/models:/models:ro" -e ATTNVIZ_MODELS="minilm, my-bert=/models/bert" attnviz
# With models of the Hugging Face hub, kept in a volume:
#   docker run … -v models:/hub -e HF_HOME=/hub -e HF_HUB_OFFLINE=0 attnviz
# The name is for people; the digest says which image, for x86-64 and ARM.
FROM python:3.11-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b

RUN useradd --uid 1000 --create-home attnviz
WORKDIR /app

# The packages change less often than the code, so they are a layer of their own.
# Each file has the hash that was tested (make lock), whatever an index serves; torch is its build without CUDA. The
# tests that packages bring, and the headers to compile against torch, are for nobody here: 0.2 GB.
COPY requirements.lock ./
RUN pip install --quiet --no-cache-dir --root-user-action ignore --require-hashes --no-deps \
        --extra-index-url https://download.pytorch.org/whl/cpu -r requirements.lock && \
    cd "$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" && \
    rm -rf torch/include torch/test torch/bin/test_* torch/bin/protoc* torch/bin/*StoreTest pandas/tests pyarrow/tests pyarrow/include sympy/*/tests sympy/*/*/tests

# HOME is the only place that is written to while the page runs; /tmp may be a tmpfs.
ENV HOME=/tmp \
    HF_HUB_OFFLINE=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1

# Any user may read the code, Python compiles now what it could not write later, and every file of the models
# must be the published one.
COPY . .
RUN chmod -R a+rX . && \
    python -m compileall -q app.py attnviz pages && \
    python -c "from attnviz.capture import loading; from attnviz.models import catalogue; [loading.load(n) for n in catalogue.names()]"

USER 1000
EXPOSE 8501
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=2)"]
CMD ["python", "-m", "attnviz", "app"]

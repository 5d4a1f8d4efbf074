# The app with its models; at run time it needs no network, no writable disk and no privileges.
#   docker build -t attnviz .
#   docker run --read-only --tmpfs /tmp --cap-drop ALL -p 8501:8501 attnviz
# With your own models, from which visitors choose (without ATTNVIZ_MODELS, they choose from the bundled models):
#   docker run … -v "$PWD/models:/models:ro" -e ATTNVIZ_MODELS="minilm, my-bert=/models/bert" attnviz
# With models from the Hugging Face hub, stored in a volume:
#   docker run … -v models:/hub -e HF_HOME=/hub -e HF_HUB_OFFLINE=0 attnviz
# The digest determines the image, for x86-64 and ARM; the tag is only for readers.
FROM python:3.11-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b

RUN useradd --uid 1000 --create-home attnviz
WORKDIR /app

# The packages change less often than the code, so they have a separate layer.
# pip refuses files with other hashes than in requirements.lock (make lock); torch is the build without CUDA. Removing
# tests, compilers and C++ headers from the packages saves 0.3 GB.
COPY requirements.lock ./
RUN pip install --quiet --no-cache-dir --root-user-action ignore --require-hashes --no-deps \
        --extra-index-url https://download.pytorch.org/whl/cpu -r requirements.lock && \
    cd "$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" && \
    rm -rf torch/include torch/test torch/bin/test_* torch/bin/protoc* torch/bin/*StoreTest pandas/tests pyarrow/tests pyarrow/include sympy/*/tests sympy/*/*/tests

# The app writes only to HOME; /tmp can be a tmpfs.
ENV HOME=/tmp \
    HF_HUB_OFFLINE=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1

# Make the code readable for all users, and compile it now, because the app cannot write to this folder. Loading all
# models compares their files with the published checksums.
COPY . .
RUN chmod -R a+rX . && \
    python -m compileall -q app.py attnviz pages && \
    python -c "from attnviz.capture import loading; from attnviz.models import catalogue; [loading.load(n) for n in catalogue.names()]"

USER 1000
EXPOSE 8501
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=2)"]
CMD ["python", "-m", "attnviz", "app"]

ARG BASE_IMAGE=quay.io/example/minimal-notebook
ARG TAG=2026-11-01
FROM $BASE_IMAGE:$TAG

LABEL maintainer="Geology group <geo@example.org>"

USER root

# Where notebooks find elevation data.
ENV DEM_HOME="/data/dem" GDAL_CACHEMAX=512

RUN mamba install --quiet --yes \
    'gdal>=3.9' \
    'rasterio' && \
    mamba clean --all -f -y && \
    fix-permissions "${CONDA_DIR}"

ARG extension_version=1.4.0
RUN pip install --no-cache-dir "terrain-widget==${extension_version}" ; \
    jupyter labextension list

COPY --chown=${NB_UID}:${NB_GID} examples/ /home/jovyan/examples/

# escape of a dollar
ENV PROMPT='\$ ' \
    HISTORY=off

WORKDIR "${HOME}"
USER ${NB_UID}
CMD start-notebook.py --ServerApp.root_dir="/home/jovyan"
LABEL org.opencontainers.image.source="https://example.org/geo" \
      org.opencontainers.image.licenses="MPL-2.0"
ENV  SPACED=1   AND=2
